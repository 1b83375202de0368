"""Prints an entry that accumulates gradients of as many variables as asked for, for one update of all."""
import sys

count = range(int(sys.argv[1]))
results = ", ".join(f'tensor<4xf32> {{dl.name = "gradient.w{i}", dl.kind = #program.value<gradient>, dl.of = @w{i}}}' for i in count)
updates = ", ".join(f'#dl.update<@w{i}, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {{learning_rate = 0.01 : f64}}>>'
                    for i in count)
for i in count:
    print(f"dl.variable @w{i} : tensor<4xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)")
print(f"dl.entry @train_step(%d: tensor<4xf32>) -> ({results})")
print(f"    attributes {{kind = #program.entry<train>, accumulate = 4 : i64, updates = [{updates}]}} {{")
print("  dl.return " + ", ".join("%d" for i in count) + " : " + ", ".join("tensor<4xf32>" for i in count))
print("}")

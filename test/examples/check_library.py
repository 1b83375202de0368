"""Checks a model of each block of the standard library; prints the first error, or that there is none."""
import json
import subprocess
import tempfile

CASES = [("resnet", "BasicBlock", "BasicBlock(x, 16, stride=2)"), ("resnet", "Bottleneck", "Bottleneck(x, 8)"),
         ("inception", "Inception", "Inception(x, (4, 2), (8, 8, 4, 4))"), ("densenet", "DenseBlock", "DenseBlock(x, 2, 4)"),
         ("densenet", "Transition", "Transition(x)"), ("mobilenet", "InvertedResidual", "InvertedResidual(x, 8, stride=2)"),
         ("unet", "UNet", "UNet(x, [8, 16])"), ("transformer", "Transformer", "Transformer(reshape(x, (N, 32, 16)), 2)"),
         ("transformer", "SelfAttention", "SelfAttention(reshape(x, (N, 32, 16)), 2)")]
MODEL = """from "std/{}.dl" import {}
model M(x: f32[N, 8, 8, 8]) -> f32[N, 10] {{
  return {} |> flatten |> linear(10)
}}
train M {{
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}}
"""

for file, block, call in CASES:
    with tempfile.NamedTemporaryFile("w", suffix=".dl") as model:
        model.write(MODEL.format(file, block, call))
        model.flush()
        done = subprocess.run(["dlc", "check", "-Werror", "--json", model.name], capture_output=True, text=True)
    found = json.loads(done.stdout)
    print(f"std/{file}.dl {block}:", found[0]["message"] if found else "fine")

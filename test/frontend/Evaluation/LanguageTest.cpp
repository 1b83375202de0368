// What programs compute at compile time, said by the language's own `assert`.
#include "test/frontend/Harness.h"

#include "frontend/DL/Syntax/Parser.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace dlc::frontend;
using namespace dlc::frontend::test;

static void expectAccepted(llvm::StringRef body) {
  Compiled compiled(inModel(body));
  EXPECT_EQ(compiled.diagnostics(), "") << body.str();
}

TEST(Language, NumbersFollowTheirRules) {
  expectAccepted(R"(assert 7 / 7 == 1 and 6 / 3 == 2 and 7 / 2.0 == 3.5
assert format("{}.{}x", (-1, 2)) == "-1.2x" and format("conv{}", 7) == "conv7"
assert div(-7, 2) == -4 and -7 % 2 == 1 and 7 % -2 == -1 and 7.5 % 2 == 1.5
assert -2 ** 2 == -4 and 2 ** 3 ** 2 == 512 and 2 ** -1 == 0.5 and 10 ** 0 == 1
assert int(2.9) == 2 and int(-2.9) == -2 and float(3) / 2 == 1.5
assert 8 * MiB == 8388608 and KiB * KiB == MiB and pi > 3.14
assert 1 + 2 * 3 - 4 == 3 and (1 + 2) * 3 == 9)");
}

TEST(Language, FunctionsOfTensorsWorkOnNumbersToo) {
  expectAccepted(
      R"(assert sqrt(16) == 4 and square(3) == 9 and minimum(2, 2.5) == 2 and maximum(3, 5) == 5
assert abs(-3) == 3 and exp(0) == 1 and log(1) == 0)");
}

TEST(Language, ConditionsStopEarly) {
  expectAccepted(R"(assert not false or 1 / 0 == 1
assert not (false and 1 / 0 == 1)
y = if true then 1 else 1 / 0
if 1 < 2 { y = y + 1 } else { y = 1 / 0 }
assert y == 2)");
}

TEST(Language, EqualityTakesAnyTwoValues) {
  expectAccepted(R"(assert 1 == 1.0 and "a" != "b" and none == none and f32 != f16 and true != 1
assert [1, (2, "x")] == ([1, [2, "x"]]) and [1] != [1, 2] and 1 != "1")");
}

TEST(Language, AnythingIsComparedWithNone) {
  expectAccepted("assert x != none and not (none == relu) and [x] != [none]");
}

TEST(Language, SequencesAreSlicedAndJoined) {
  expectAccepted(R"(s = [1, 2, 3]
assert len(s + [4]) == 4 and s[-1] == 3 and s[1:] == [2, 3] and s[:-1] == [1, 2] and s[::2] == [1, 3]
assert (1,) == [1] and () == [] and (1) == 1 and s[5:] == []
assert range(3) == [0, 1, 2] and range(1, 4) == s and range(3, 0, -1) == reversed(s)
assert enumerate(["a"]) == [(0, "a")] and zip([1, 2], [3, 4]) == [(1, 3), (2, 4)])");
}

TEST(Language, ListsAreMadeOfWhatEachTurnGives) {
  expectAccepted(R"(assert [2 * i for i in range(3)] == [0, 2, 4] and [i for i in []] == []
assert [i for i in range(6) if i % 2 == 1] == [1, 3, 5] and [1 for _ in range(2)] == [1, 1]
assert [a + b for a, b in zip([1, 2], [3, 4])] == [4, 6] and [i for i in [3, 3]] == [3, 3]
assert [a + b + c for a, (b, c) in [(1, (2, 3))]] == [6]
assert [[i * j for j in range(i)] for i in range(3)] == [[], [0], [0, 2]]
assert [[i for i in range(i)] for i in range(3)] == [[], [0], [0, 1]]
assert [if i > 0 then i else -1 for i in range(2) if not false] == [-1, 1]
assert [n for n in if true then [1] else [2]] == [1] and len([
  i
  for i in range(4)
]) == 4
i = 7
assert [i for i in range(2)] == [0, 1] and i == 7)");
}

/// As in the body of a 'for': counted in the scope around, or in one of the label's.
TEST(Language, ListsNameLayersAsLoopsDo) {
  Compiled compiled(inModel(R"(a = [linear(x, 8) for _ in range(2)]
b = [x |> linear(8) for i in range(3) as tower if i != 1]
x = concat(a) + concat(b) |> stack([_ for _ in range(2)], axis=1) |> reshape((N, 3, 2, 2, 8, 8)) |> sum((2, 3))
parts = []
for i in range(2) { parts = parts + [linear(x, 8, name=format("own{}", i))] }
x = concat(parts))"));
  EXPECT_EQ(compiled.diagnostics(), "");
  EXPECT_EQ(compiled.weights(),
            (std::vector<std::string>{
                "linear1.weight 8x8", "linear1.bias 8", "linear2.weight 8x8", "linear2.bias 8",
                "tower1.linear1.weight 8x8", "tower1.linear1.bias 8", "tower3.linear1.weight 8x8",
                "tower3.linear1.bias 8", "own0.weight 8x8", "own0.bias 8", "own1.weight 8x8",
                "own1.bias 8", "linear3.weight 10x384", "linear3.bias 10"}));
}

/// Sequences do not change, whatever is appended to a shorter one of the same list.
TEST(Language, AppendingLeavesOtherSequencesAsTheyAre) {
  expectAccepted(R"(s = [0]
for i in range(1, 9) { s = s + [i] }
t = s + [10]
u = s + [11, 12]
v = s + s
w = t[:3] + [13]
assert s == range(9) and t == range(9) + [10] and u[9:] == [11, 12] and len(v) == 18 and w == [0, 1, 2, 13]
n = [s]
for i in range(3) { n = n + [n, s] }
assert len(n) == 7 and len(n[1]) == 1 and len(n[5]) == 5 and n[6] == s
r = [1]
for i in r { r = r + [i + 1] }
assert r == [1, 2])");
}

TEST(Language, ShapesAreNumbers) {
  expectAccepted(
      R"(assert channels(x) == 3 and size(x, -1) == 8 and shape(x) == (N, 3, 8, 8) and rank(x) == 4)");
}

TEST(Language, PipesPutTheValueFirstOrInTheHoles) {
  expectAccepted(R"(assert ([1, 2] |> len) == 2 and (3 |> maximum(5)) == 5
assert (7 |> div(_, 2)) == 3 and (7 |> div(21, _)) == 3 and (3 |> maximum(_ - 1, _ + 1)) == 4
assert (2 |> maximum(1 |> maximum(_, 0), _)) == 2
assert ([1, 2] |> reversed[0]) == 2)");
}

TEST(Language, LoopsRebindWhatIsAround) {
  expectAccepted(R"(total = 0
for i, (p, q) in enumerate([(1, 2), (3, 4)]) { total = total + i * (p + q) }
assert total == 7
count = 0
repeat 3 { repeat 2 { count = count + 1 } }
assert count == 6
i = 9
for i in range(3) { count = i }
assert i == 9 and count == 2)");
}

TEST(Language, StatementsNeedNoSeparator) {
  expectAccepted("a = 1 b = 2 c = a d, e = [3, 4] assert c == 1 and b + d == 5");
}

// An index or a call continues a line only on the line itself; operators and pipes go on in the
// next.
TEST(Language, ExpressionsGoOnInTheNextLine) {
  expectAccepted("a = 1\n  + 2\n  |> maximum(1)\nassert a == 3");
  EXPECT_EQ(Compiled(inModel("a = maximum\n(1, 2)")).diagnostics(),
            "test.dl:3:3: error: expected a statement, found '('\n  (1, 2)\n  ^ a '(' that goes on "
            "with a line stands on it\n");
}

// '_' takes a value of no interest; it is no name, so nothing reads it.
TEST(Language, AValueOfNoInterest) {
  expectAccepted("_, b = [1, 2]\n_ = b\nfor _ in range(2) { x = relu(x) }\n"
                 "for i, (_, w) in enumerate([(3, 4)]) { assert i == 0 and w == 4 }");
  Compiled section(R"(model M(x: f32[N, 3]) -> (a: f32[N, 2], b: f32[N, 4]) {
  return linear(x, 2), linear(x, 4, frozen=true)
}
train M {
  x: f32[N, 3]
  label: i32[N]
  a, _ = M(x)
  _a, _rest = M(x)
  loss = softmax_cross_entropy(a, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)");
  EXPECT_EQ(section.diagnostics(), "");
}

TEST(Language, BlocksAreFunctionsOfAnyValue) {
  Compiled compiled(R"(
half = 0.5
block Round8(v) { return maximum(8, div(int(v + 4), 8) * 8) }
block Two(a, b=a + 1) { return a, b }
block Apply(f, x) { return f(x) }
)" + inModel(R"(assert Round8(12.0) == 16 and Round8(3) == 8
a, b = Two(3)
assert a == 3 and b == 4
a, b = Two(3, b=9)
assert [a, b] == (3, 9) and Two(b=1, a=2) == (2, 1)
assert Apply(Round8, 20) == 24 and half * 2 == 1)"));
  EXPECT_EQ(compiled.diagnostics(), "");
}

TEST(Language, LocalsHideBuiltInsAndConstants) {
  Compiled compiled(
      "width = 3\n" +
      inModel("relu = 5\nassert relu == 5 and width == 3\nwidth = 4\nassert width == 4"));
  EXPECT_EQ(compiled.diagnostics(), "");
}

TEST(Language, BlocksDoNotSeeTheCallersNames) {
  Compiled compiled("block B(x) { return x + hidden }\n" + inModel("hidden = 3\ny = B(4)"));
  EXPECT_EQ(compiled.diagnostics(), R"(test.dl:1:25: error: unknown name 'hidden'
block B(x) { return x + hidden }
                        ^~~~~~
test.dl:4:7: note: in B1, called here
)");
}

TEST(Language, AConstantIsOpenToTheCommandLine) {
  FrontendOptions options;
  options.defines = {"width=5", "rate=1", "mode=fast", "sizes=[1, 2]", "N=3"};
  Compiled compiled("width = 4\nrate = 0.5\nmode = \"slow\"\nsizes = ()\ntwice = 2 * width\n" +
                        inModel("assert width == 5 and twice == 10 and rate == 1.0 and mode == "
                                "\"fast\" and len(sizes) == 2 and N <= 3"),
                    options);
  EXPECT_EQ(compiled.diagnostics(), "");
}

// The whole grammar, in the programs of the language's page.
TEST(Language, ParsesItsPrograms) {
  SourceManager sources;
  DiagnosticEngine engine;
  std::string error;
  FileId file = sources.load(TEST_INPUTS "/programs.dl", error);
  ASSERT_NE(file, noFile) << error;
  auto tree = parse(sources, file, engine);
  EXPECT_FALSE(engine.hasErrors());
  EXPECT_EQ(tree->constants.size(), 3u);
  EXPECT_EQ(tree->blocks.size(), 11u);
  EXPECT_EQ(tree->sections.size(), 7u);
}

// Depth is a clear error, never a stack overflow.
TEST(Language, DeepNestingIsAnError) {
  auto message = [](const std::string &text) {
    Compiled compiled(text);
    return compiled.engine.diagnostics().empty() ? ""
                                                 : compiled.engine.diagnostics().front().message;
  };
  std::string many(100000, '(');
  const std::string tooDeep = "this is nested more than 500 levels deep";
  EXPECT_EQ(message("a = " + many), tooDeep);
  EXPECT_EQ(message("a = " + std::string(100000, '[')), tooDeep);
  EXPECT_EQ(message("a = " + std::string(100000, '-') + "1"), tooDeep);
  std::string chain = "a = 1", calls = "a = f", powers = "a = 1",
              nots = "a = ", ifs = "block B(x) {", pipes = "a = x";
  for (int i = 0; i < 20000; ++i) {
    chain += " + 1";
    calls += "(1)";
    powers += " ** 1";
    nots += "not ";
    ifs += "if true {";
    pipes += " |> f(x";
  }
  for (const std::string &text : {chain, calls, powers, nots, ifs, pipes})
    EXPECT_EQ(message(text), tooDeep) << text.substr(0, 20);
}

// Blocks that call each other in a chain go deep without recursion.
TEST(Language, DeepCallsAreAnError) {
  std::string text = "block B0(x) { return x }\n";
  for (int i = 1; i < 1000; ++i)
    text += "block B" + std::to_string(i) + "(x) { return B" + std::to_string(i - 1) + "(x) }\n";
  Compiled compiled(text + inModel("y = B999(x)"));
  ASSERT_FALSE(compiled.engine.diagnostics().empty());
  EXPECT_EQ(compiled.engine.diagnostics().front().message,
            "blocks are called more than 100 levels deep");
}

// A block that calls two blocks that call two blocks ...: no loop, but 2^60 calls.
TEST(Language, CallsAreLimited) {
  std::string text = "block B0(x) { return x }\n";
  for (int i = 1; i <= 60; ++i)
    text += "block B" + std::to_string(i) + "(x) { return B" + std::to_string(i - 1) + "(B" +
            std::to_string(i - 1) + "(x)) }\n";
  Compiled compiled(text + inModel("y = B60(x)"));
  ASSERT_FALSE(compiled.engine.diagnostics().empty());
  EXPECT_EQ(compiled.engine.diagnostics().front().message,
            "blocks are called more than 100000 times");
}

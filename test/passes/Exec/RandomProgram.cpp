//===- RandomProgram.cpp - exec programs drawn from a seed ------------------------------------===//
#include "test/passes/Exec/RandomProgram.h"
#include "llvm/Support/FormatVariadic.h"
#include <random>
#include <vector>

namespace dlc::test {

static constexpr const char *prologue = R"(
exec.variable @w : tensor<48xf32> role<statistic> init(<constant, 0.0, 0.0>) at 0 bytes 192
exec.kernel @plain [#exec.argument<read 64>, #exec.argument<read 64>, #exec.argument<write 64>] {
  dl.yield
}
exec.kernel @map [#exec.argument<read 64>, #exec.argument<read 64>, #exec.argument<write 64>]
    in_place [#exec.in_place<0 into 2>, #exec.in_place<1 into 2>] {
  dl.yield
}
exec.kernel @split [#exec.argument<read 64>, #exec.argument<read 64>, #exec.argument<write 64>]
    attributes {workspace = 320 : i64} {
  dl.yield
}
)";

namespace {
struct Buffer {
  std::string name;
  int64_t bytes;
};

class Writer {
public:
  explicit Writer(unsigned seed) : random(seed) {}

  std::string write(unsigned records) {
    references += "  %w = exec.state @w at 0 : <192>\n";
    readable.push_back({"%w", 192});
    for (unsigned i = 0; i < records; ++i)
      addRecord(i);
    Buffer a = pick(), b = pick();
    while (a.name == "%w")
      a = pick();
    while (b.name == "%w")
      b = pick();
    std::string head =
        "exec.program @p attributes {kind = #program.entry<train>, inputs = [], metrics = [], "
        "outputs = ["
        "#exec.value<\"a\" result tensor<f32>>, #exec.value<\"b\" result tensor<f32>>]} {\n";
    return prologue + head + references + body +
           llvm::formatv("  exec.output {0}, {1} : {2}, {3}\n}\n", a.name, b.name, type(a), type(b))
               .str();
  }

private:
  unsigned below(unsigned limit) {
    return std::uniform_int_distribution<unsigned>(0, limit - 1)(random);
  }
  Buffer pick() { return readable[below(readable.size())]; }
  static std::string type(const Buffer &buffer) {
    return llvm::formatv("!exec.buffer<{0}>", buffer.bytes);
  }

  Buffer alloc(int64_t bytes) {
    Buffer buffer{llvm::formatv("%b{0}", next++), bytes};
    references += llvm::formatv("  {0} = exec.alloc : <{1}>\n", buffer.name, bytes);
    return buffer;
  }

  void fill(const Buffer &buffer, unsigned record) {
    body += llvm::formatv("  exec.fill {0} with {1} stream 0 : <{2}> loc(\"r{1}\")\n", buffer.name,
                          record, buffer.bytes);
  }

  void launch(const char *kernel, const Buffer &x, const Buffer &y, const Buffer &z,
              unsigned record) {
    body += llvm::formatv("  exec.launch @{0}(read {1}, read {2}, write {3}) stream 0 : {4}, {5}, "
                          "{6} loc(\"r{7}\")\n",
                          kernel, x.name, y.name, z.name, type(x), type(y), type(z), record);
  }

  /// A flat buffer whose pieces two records write.
  void addFlat(unsigned record) {
    Buffer flat = alloc(256);
    for (unsigned half : {0, 128}) {
      Buffer piece{llvm::formatv("%b{0}", next++), 128};
      references += llvm::formatv("  {0} = exec.view {1} at {2} : <256> to <128>\n", piece.name,
                                  flat.name, half);
      fill(piece, record);
    }
    readable.push_back(flat);
  }

  void addRecord(unsigned record) {
    static constexpr const char *kernels[] = {"plain", "map", "map", "split"};
    switch (readable.size() < 3 ? 0 : below(10)) {
    case 0: {
      readable.push_back(alloc(64 * (1 + below(4))));
      return fill(readable.back(), record);
    }
    case 1:
      return addFlat(record);
    case 2: {
      Buffer from = pick(), to = alloc(from.bytes);
      readable.push_back(to);
      body += llvm::formatv("  exec.copy {0} to {1} stream 0 : <{2}>, <{2}> loc(\"r{3}\")\n",
                            from.name, to.name, from.bytes, record);
      return;
    }
    case 3: // The variable, and now and then an older buffer, is overwritten.
      return fill(below(2) ? readable.front() : pick(), record);
    default: {
      Buffer x = pick(), y = pick(), z = alloc(x.bytes);
      launch(kernels[below(4)], x, y, z, record);
      readable.push_back(z);
    }
    }
  }

  std::mt19937 random;
  std::string references, body;
  std::vector<Buffer> readable;
  unsigned next = 0;
};
} // namespace

std::string drawProgram(unsigned seed, unsigned records) { return Writer(seed).write(records); }

} // namespace dlc::test

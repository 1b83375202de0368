//===- CompilerTest.cpp - identity, cache and objects of kernels ------------------------------===//
#include "codegen/CPU/CpuTarget.h"
#include "codegen/Compile/KernelCache.h"
#include "codegen/Compile/KernelSelector.h"
#include "test/codegen/Harness.h"
#include "test/lib/Nobody/Nobody.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace dlc;
using namespace dlc::test;
using namespace dlc::codegen;

namespace {

/// A folder that is deleted at the end.
struct TemporaryFolder {
  TemporaryFolder() { llvm::sys::fs::createUniqueDirectory("dlc-kernels", path); }
  ~TemporaryFolder() { llvm::sys::fs::remove_directories(path); }
  std::vector<std::string> files() const {
    std::vector<std::string> result;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(path, error), end; it != end; it.increment(error))
      result.push_back(it->path());
    return result;
  }
  llvm::SmallString<128> path;
};

class Compiler : public testing::Test {
protected:
  Compiler() : target(llvm::cantFail(CpuTarget::get("native"))) {
    DialectRegistry registry;
    registerKernelDialects(registry);
    context = std::make_unique<MLIRContext>(registry);
    context->loadAllAvailableDialects();
    options.cacheFolder = folder.path.str().str();
  }

  SelectedKernel select(const std::string &text) {
    auto module = parseKernel(text, context.get());
    EXPECT_TRUE(succeeded(module));
    auto kernel = KernelSelector(target.clone()).select(kernelBlock(**module));
    EXPECT_TRUE(succeeded(kernel));
    return *kernel;
  }
  /// exp of `size` numbers; `name` and the line do not matter to what it computes.
  SelectedKernel exponential(int size, const std::string &name = "x") {
    std::string type = "tensor<" + std::to_string(size) + "xf32>";
    return select("%in = builtin.unrealized_conversion_cast to " + type +
                  "\n%out = dl.fused(%in) {note = \"" + name + "\"} : (" + type + ") -> " + type +
                  " {\n^bb0(%" + name + ": " + type + "):\n %y = dl.exp %" + name + " {label = \"" +
                  name + "\"} : " + type + "\n dl.yield %y : " + type + "\n}");
  }
  bool compiledFromCache(const SelectedKernel &kernel) {
    auto result = target.compile(kernel, options);
    if (!result) {
      ADD_FAILURE() << llvm::toString(result.takeError());
      return false;
    }
    EXPECT_FALSE(result->front().objects.empty());
    return result->front().fromCache;
  }

  CpuTarget target;
  TemporaryFolder folder;
  CompileOptions options;
  std::unique_ptr<MLIRContext> context;
};

} // namespace

/// Names and locations are no part of a kernel's identity; types, target and schedule are.
TEST_F(Compiler, Identity) {
  SelectedKernel a = exponential(100, "x"), b = exponential(100, "other");
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.symbol, b.symbol);
  EXPECT_NE(a.key, exponential(101).key);
  EXPECT_EQ(StringRef(a.symbol).rsplit('_').first, "exp_100");
  EXPECT_EQ(a.keyText().substr(0, 8), StringRef(a.symbol).rsplit('_').second);
  target = llvm::cantFail(CpuTarget::get("avx2"));
  EXPECT_NE(a.key, exponential(100).key);
}

/// A text survives a round trip, so that threads get the kernel that was selected.
TEST_F(Compiler, TextRoundTrip) {
  SelectedKernel kernel = exponential(100);
  EXPECT_EQ(kernel.text, select(kernel.text).text);
}

TEST_F(Compiler, CacheHit) {
  SelectedKernel kernel = exponential(100);
  EXPECT_FALSE(compiledFromCache(kernel));
  EXPECT_TRUE(compiledFromCache(kernel));
  options.cache = false;
  EXPECT_FALSE(compiledFromCache(kernel));
}

/// A damaged entry counts as absent and is written anew, whatever byte it is; so is a truncated
/// one.
TEST_F(Compiler, DamagedEntries) {
  SelectedKernel kernel = exponential(100);
  EXPECT_FALSE(compiledFromCache(kernel));
  std::string path = folder.files().front();
  std::string good = (*llvm::MemoryBuffer::getFile(path))->getBuffer().str();
  auto damage = [&](const std::string &bytes) {
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << bytes;
    EXPECT_FALSE(compiledFromCache(kernel));
    EXPECT_TRUE(compiledFromCache(kernel));
  };
  for (size_t place : {size_t(0), size_t(9), size_t(20), good.size() / 2, good.size() - 1}) {
    std::string bad = good;
    bad[place] ^= 1;
    damage(bad);
  }
  damage(good.substr(0, good.size() - 1));
  damage(good.substr(0, 10));
  damage("");
  damage(good + "x");
}

/// An entry under another name, renamed or copied, is never used, though nothing in it is damaged.
TEST_F(Compiler, EntriesUnderOtherNames) {
  SelectedKernel first = exponential(100), second = exponential(200);
  EXPECT_FALSE(compiledFromCache(first));
  const std::string path = folder.files().front();
  llvm::SmallString<128> other(folder.path);
  llvm::sys::path::append(other, second.keyText() + ".o");
  ASSERT_FALSE(llvm::sys::fs::copy_file(path, other));
  EXPECT_FALSE(compiledFromCache(second));
  EXPECT_TRUE(compiledFromCache(second));
  ASSERT_FALSE(llvm::sys::fs::rename(path, other));
  EXPECT_FALSE(compiledFromCache(second));
  EXPECT_FALSE(compiledFromCache(first));
  EXPECT_TRUE(compiledFromCache(first));
}

/// What stands in an entry's place and is no file is left alone: a folder, a pipe, a link to a
/// device, a link to nothing, a terabyte of nothing.
TEST_F(Compiler, PlacesThatAreTaken) {
  SelectedKernel kernel = exponential(100);
  EXPECT_FALSE(compiledFromCache(kernel));
  const std::string path = folder.files().front();
  auto taken = [&](bool made, const char *what) {
    ASSERT_TRUE(made) << what;
    EXPECT_FALSE(compiledFromCache(kernel)) << what;
    std::filesystem::remove_all(path);
  };
  std::filesystem::remove(path);
  taken(std::filesystem::create_directories(path + "/inside"), "a folder");
  taken(mkfifo(path.c_str(), 0600) == 0, "a pipe");
  taken(symlink("/dev/zero", path.c_str()) == 0, "a device");
  taken(symlink("/nowhere/nothing", path.c_str()) == 0, "a link to nothing");
  std::ofstream(path) << "";
  std::error_code error;
  std::filesystem::resize_file(path, uint64_t(1) << 40, error);
  taken(!error, "a terabyte");
  EXPECT_FALSE(compiledFromCache(kernel));
  EXPECT_TRUE(compiledFromCache(kernel));
}

/// A folder that cannot be written to, or not even looked into, makes no difference but time.
TEST_F(Compiler, FoldersWithoutPermission) {
  test::Nobody user(folder.path.c_str());
  if (!user)
    GTEST_SKIP() << "the superuser cannot become nobody here";
  SelectedKernel kernel = exponential(100);
  std::filesystem::permissions(folder.path.c_str(), std::filesystem::perms(0500));
  EXPECT_FALSE(compiledFromCache(kernel));
  std::filesystem::permissions(folder.path.c_str(), std::filesystem::perms(0));
  EXPECT_FALSE(compiledFromCache(kernel));
  std::filesystem::permissions(folder.path.c_str(), std::filesystem::perms(0700));
  EXPECT_TRUE(folder.files().empty());
}

/// Many threads and one folder: all get the object, and one good entry is left.
TEST_F(Compiler, Concurrent) {
  SelectedKernel kernel = exponential(100);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      auto result = target.compile(kernel, options);
      right += bool(result) && !result->front().objects.empty();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 4);
  EXPECT_EQ(folder.files().size(), 1u);
  EXPECT_TRUE(compiledFromCache(kernel));
}

/// A folder that cannot be made is no error.
TEST_F(Compiler, UnusableFolder) {
  SelectedKernel kernel = exponential(100);
  options.cacheFolder = "/dev/null/kernels";
  EXPECT_FALSE(compiledFromCache(kernel));
  EXPECT_FALSE(compiledFromCache(kernel));
}

/// The cache keeps its size; what was used last stays.
TEST_F(Compiler, Trim) {
  auto first = exponential(100), second = exponential(200);
  EXPECT_FALSE(compiledFromCache(first));
  uint64_t size;
  ASSERT_FALSE(llvm::sys::fs::file_size(folder.files().front(), size));
  std::filesystem::last_write_time(folder.files().front(),
                                   std::filesystem::file_time_type::clock::now() -
                                       std::chrono::hours(1));
  options.cacheBytes = size * 3 / 2;
  EXPECT_FALSE(compiledFromCache(second));
  EXPECT_EQ(folder.files().size(), 1u);
  EXPECT_TRUE(compiledFromCache(second));
}

/// Several kernels at once, results in order, each the same as alone.
TEST_F(Compiler, Parallel) {
  std::vector<SelectedKernel> kernels;
  for (int size : {10, 20, 30, 40, 50})
    kernels.push_back(exponential(size));
  options.cache = false;
  options.threads = 3;
  auto together = target.compile(kernels, options);
  ASSERT_TRUE(bool(together));
  for (auto [kernel, compiled] : llvm::zip_equal(kernels, *together)) {
    auto alone = target.compile(kernel, options);
    ASSERT_TRUE(bool(alone));
    EXPECT_EQ(alone->front().objects, compiled.objects);
  }
}

/// Kernels of two sizes call one inner loop, which both come with.
TEST_F(Compiler, Routines) {
  auto product = [&](int columns) {
    std::string n = std::to_string(columns), b = "tensor<300x" + n + "xf32>",
                y = "tensor<200x" + n + "xf32>", a = "tensor<200x300xf32>";
    return select("%a = builtin.unrealized_conversion_cast to " + a +
                  "\n%b = builtin.unrealized_conversion_cast to " + b +
                  "\n%out = dl.fused(%a, %b) : (" + a + ", " + b + ") -> " + y +
                  " {\n^bb0(%x: " + a + ", %w: " + b + "):\n %y = dl.matmul %x, %w : " + a + ", " +
                  b + "\n dl.yield %y : " + y + "\n}");
  };
  std::vector<SelectedKernel> kernels = {product(480), product(960)};
  for (bool cached : {false, true}) {
    auto compiled = target.compile(kernels, options);
    ASSERT_TRUE(bool(compiled));
    EXPECT_EQ(compiled->front().fromCache, cached);
    ArrayRef<std::string> first = compiled->front().objects, second = compiled->back().objects;
    ASSERT_GT(first.size(), 1u);
    EXPECT_NE(first.front(), second.front());
    EXPECT_EQ(first.drop_front(), second.drop_front());
  }
}

/// Nothing outside is called, and nothing but the kernel is defined for others.
TEST_F(Compiler, Symbols) {
  SelectedKernel kernel = exponential(1000);
  auto compiled = target.compile(kernel, options);
  ASSERT_TRUE(bool(compiled));
  auto object = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(compiled->front().objects.front(), "kernel"));
  ASSERT_TRUE(bool(object));
  std::vector<std::string> globals;
  for (const llvm::object::SymbolRef &symbol : (*object)->symbols()) {
    uint32_t flags = llvm::cantFail(symbol.getFlags());
    std::string name = llvm::cantFail(symbol.getName()).str();
    if (flags & llvm::object::SymbolRef::SF_Undefined)
      EXPECT_TRUE(name == "memcpy" || name == "memset") << name;
    else if (flags & llvm::object::SymbolRef::SF_Global)
      globals.push_back(name);
  }
  EXPECT_EQ(globals, std::vector<std::string>{kernel.symbol});
}

/// The forms for people.
TEST_F(Compiler, Print) {
  SelectedKernel kernel = exponential(1000);
  auto contains = [&](KernelForm form, StringRef needed) {
    auto texts = target.print(kernel, form, options);
    return texts && StringRef(texts->front()).contains(needed);
  };
  EXPECT_TRUE(contains(KernelForm::MLIR, "math.exp"));
  EXPECT_TRUE(contains(KernelForm::LLVM, "define void @" + kernel.symbol));
  EXPECT_TRUE(contains(KernelForm::Assembly, kernel.symbol + ":"));
}

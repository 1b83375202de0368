// Where NVIDIA's libraries are looked for, with a library of the system in their stead.
#include "runtime/Device/CUDA/Toolkit.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <link.h>
#include <optional>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace dlc::runtime;

namespace {

/// Sets or removes a variable of the environment, and restores it.
class Variable {
public:
  Variable(const char *name, const std::optional<std::string> &value) : name(name) {
    if (const char *old = std::getenv(name))
      before = old;
    set(value);
  }
  ~Variable() { set(before); }

private:
  void set(const std::optional<std::string> &value) {
    value ? setenv(name, value->c_str(), 1) : unsetenv(name);
  }
  const char *name;
  std::optional<std::string> before;
};

std::string fileOf(void *library) {
  link_map *map = nullptr;
  dlinfo(library, RTLD_DI_LINKMAP, &map);
  return map ? map->l_name : "";
}

class Toolkit : public testing::Test {
protected:
  void SetUp() override {
    void *onPath = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(onPath) << dlerror();
    system = fileOf(onPath);
    fs::remove_all(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  /// A copy of the library.
  fs::path copyTo(const fs::path &file) {
    fs::create_directories(file.parent_path());
    fs::copy_file(system, file);
    return file;
  }

  const fs::path folder = fs::path(testing::TempDir()) / ("toolkit." + std::to_string(getpid()));
  std::string system;
};

TEST_F(Toolkit, Folders) {
  {
    Variable home("CUDA_HOME", "/somewhere");
    EXPECT_EQ(cudaToolkits(), std::vector<fs::path>{"/somewhere"});
  }
  for (const std::optional<std::string> &unset :
       {std::optional<std::string>(), std::optional<std::string>("")}) {
    Variable home("CUDA_HOME", unset);
    EXPECT_EQ(cudaToolkits(),
              (std::vector<fs::path>{ownFolder().parent_path().parent_path() / "cuda",
                                     "/usr/local/cuda"}));
  }
}

TEST_F(Toolkit, HomeGoesBeforeTheLoader) {
  const fs::path copy = copyTo(folder / "lib64/libz.so.1");
  Variable home("CUDA_HOME", folder.string());
  for (CudaLibrary kind : {CudaLibrary::OfToolkit, CudaLibrary::Any})
    EXPECT_EQ(fileOf(openCudaLibrary({"libz.so.1"}, kind).handle), copy);
}

TEST_F(Toolkit, HomeIsAloneForWhatToolkitsHave) {
  Variable home("CUDA_HOME", folder.string());
  EXPECT_FALSE(openCudaLibrary({"libz.so.1"}, CudaLibrary::OfToolkit).handle);
  EXPECT_EQ(fileOf(openCudaLibrary({"libz.so.1"}, CudaLibrary::Any).handle), system);
  Variable none("CUDA_HOME", std::nullopt);
  EXPECT_EQ(fileOf(openCudaLibrary({"libz.so.1"}, CudaLibrary::OfToolkit).handle), system);
}

TEST_F(Toolkit, PackagesOfPythonComeLast) {
  const fs::path packages = folder / "lib/python3.11/site-packages/nvidia/some/lib";
  copyTo(packages / "libz.so.1");
  const fs::path only = copyTo(packages / "libdlc-toolkit-test.so.2");
  Variable environment("VIRTUAL_ENV", folder.string()), home("CUDA_HOME", std::nullopt);
  EXPECT_EQ(fileOf(openCudaLibrary({"libz.so.1"}, CudaLibrary::Any).handle), system);
  EXPECT_EQ(fileOf(openCudaLibrary({"libdlc-toolkit-test.so.3", "libdlc-toolkit-test.so.2"},
                                   CudaLibrary::Any)
                       .handle),
            only);
}

TEST_F(Toolkit, OpensWhatNvrtcLooksForByName) {
  auto isOpen = [](const fs::path &file) {
    return dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr;
  };
  copyTo(folder / "lib64/libdlc-toolkit-home.so");
  const fs::path beside = copyTo(folder / "lib64/libnvrtc-builtins.so.99.0");
  const fs::path packages = folder / "lib/python3.11/site-packages/nvidia";
  copyTo(packages / "cudnn/lib/libdlc-toolkit-package.so");
  const fs::path other = copyTo(packages / "cu99/lib/libnvrtc-builtins.so.99.1");
  Variable environment("VIRTUAL_ENV", folder.string()), home("CUDA_HOME", folder.string());
  EXPECT_FALSE(isOpen(beside) || isOpen(other));
  EXPECT_TRUE(openCudaLibrary({"libdlc-toolkit-home.so"}, CudaLibrary::OfToolkit).handle);
  EXPECT_TRUE(isOpen(beside));
  EXPECT_FALSE(isOpen(other));
  EXPECT_TRUE(openCudaLibrary({"libdlc-toolkit-package.so"}, CudaLibrary::Any).handle);
  EXPECT_TRUE(isOpen(other));
}

TEST_F(Toolkit, SaysWhyALibraryCannotBeOpened) {
  Variable home("CUDA_HOME", folder.string());
  const OpenedLibrary none = openCudaLibrary({"libdlc-toolkit-none.so"}, CudaLibrary::Any);
  EXPECT_FALSE(none.handle);
  EXPECT_NE(none.reason.find("libdlc-toolkit-none.so: cannot open shared object file"),
            std::string::npos)
      << none.reason;
}

} // namespace

// Imports: found beside the file and in -I, only what is listed, no cycles.
#include "test/frontend/Harness.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dlc::frontend;
using namespace dlc::frontend::test;

namespace {
/// Files in a folder of their own, removed at the end.
class ImportsTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("dlc-imports", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string path(llvm::StringRef name) const { return (folder + "/" + name).str(); }

  void write(llvm::StringRef name, llvm::StringRef text) {
    llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path(name)));
    std::error_code code;
    llvm::raw_fd_ostream out(path(name), code);
    ASSERT_FALSE(code);
    out << text;
  }

  /// Diagnostics of main.dl, the folder's name removed.
  std::string compileMain(std::vector<std::string> includeDirs = {}) {
    mlir::MLIRContext context;
    SourceManager sources;
    DiagnosticEngine engine;
    FrontendOptions options;
    options.includeDirs = std::move(includeDirs);
    auto module = compile(sources, path("main.dl"), options, context, engine);
    std::string text;
    llvm::raw_string_ostream out(text);
    render(engine, sources, out);
    std::string prefix = folder.str().str() + "/";
    for (size_t at; (at = text.find(prefix)) != std::string::npos;)
      text.erase(at, prefix.size());
    return text;
  }

  llvm::SmallString<128> folder;
};
} // namespace

static const char *model = R"(
model M(x: f32[N, 3]) -> f32[N, 10] { return Head(x) }
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)";

TEST_F(ImportsTest, ABlockBringsItsConstants) {
  write("main.dl", std::string("from \"parts/head.dl\" import Head\n") + model);
  write("parts/head.dl", "from \"../width.dl\" import width\nblock Head(x) { return Inner(x) "
                         "}\nblock Inner(x) { return x |> linear(width) }\n");
  write("width.dl", "width = 10\n");
  EXPECT_EQ(compileMain(), "");
}

TEST_F(ImportsTest, FoldersAreSearchedInOrder) {
  write("main.dl", std::string("from \"std/head.dl\" import Head\n") + model);
  write("b/std/head.dl", "block Head(x) { return x |> linear(10) }\n");
  EXPECT_EQ(compileMain({path("a"), path("b")}), "");
  EXPECT_EQ(compileMain({path("a")}),
            "main.dl:1:6: error: there is no file 'std/head.dl'\nfrom \"std/head.dl\" import "
            "Head\n     ^~~~~~~~~~~~~\n"
            "note: looked for std/head.dl\nnote: looked for a/std/head.dl\n");
}

TEST_F(ImportsTest, OnlyListedNamesArrive) {
  write("main.dl", std::string("from \"head.dl\" import Hed, width\n") + model);
  write("head.dl", "block Head(x) { return x |> linear(10) }\n");
  EXPECT_EQ(compileMain(), R"(main.dl:1:23: error: "head.dl" has no 'Hed'
from "head.dl" import Hed, width
                      ^~~ did you mean 'Head'?
main.dl:1:28: error: "head.dl" has no 'width'
from "head.dl" import Hed, width
                           ^~~~~ it has Head
)");
}

TEST_F(ImportsTest, BlocksOfTheLibraryThatAreNotImported) {
  auto compiled = [&](llvm::StringRef call) {
    write("main.dl", "model M(x: f32[N, 3, 8, 8]) -> f32[N, 10] {\n  return " + call.str() +
                         " |> flatten |> linear(10)\n}\ntrain M {\n  label: i32[N]\n  loss = "
                         "softmax_cross_entropy(output, label)\n  optimizer = "
                         "sgd(learning_rate=0.1)\n  batch = 4\n}\n");
    return compileMain({LIBRARY});
  };
  EXPECT_EQ(compiled("x |> Bottleneck(16)"), R"(main.dl:2:15: error: unknown name 'Bottleneck'
  return x |> Bottleneck(16) |> flatten |> linear(10)
              ^~~~~~~~~~ from "std/resnet.dl" import Bottleneck
)");
  EXPECT_EQ(compiled("Botleneck(x, 16)"), R"(main.dl:2:10: error: unknown name 'Botleneck'
  return Botleneck(x, 16) |> flatten |> linear(10)
         ^~~~~~~~~ from "std/resnet.dl" import Bottleneck
)");
  EXPECT_EQ(compiled("resnet.BasicBlock(x, 16)"),
            R"(main.dl:2:10: error: unknown name 'resnet.BasicBlock'
  return resnet.BasicBlock(x, 16) |> flatten |> linear(10)
         ^~~~~~~~~~~~~~~~~ from "std/resnet.dl" import BasicBlock
)");
}

TEST_F(ImportsTest, AFileOfTheLibraryNearby) {
  write("main.dl", std::string("from \"std/restnet.dl\" import Bottleneck\n") + model);
  EXPECT_EQ(compileMain({LIBRARY}), R"(main.dl:1:6: error: there is no file 'std/restnet.dl'
from "std/restnet.dl" import Bottleneck
     ^~~~~~~~~~~~~~~~ did you mean "std/resnet.dl"?
note: looked for std/restnet.dl
note: looked for )" LIBRARY R"(/std/restnet.dl
)");
  write("main.dl", std::string("from \"std/alexnet.dl\" import AlexNet\n") + model);
  EXPECT_EQ(compileMain({LIBRARY}), R"(main.dl:1:6: error: there is no file 'std/alexnet.dl'
from "std/alexnet.dl" import AlexNet
     ^~~~~~~~~~~~~~~~ there is std/densenet.dl, std/inception.dl, std/mobilenet.dl, std/resnet.dl, std/transformer.dl, std/unet.dl
note: looked for std/alexnet.dl
note: looked for )" LIBRARY R"(/std/alexnet.dl
)");
}

TEST_F(ImportsTest, ACycleIsAnError) {
  write("main.dl", std::string("from \"head.dl\" import Head\n") + model);
  write("head.dl", "from \"main.dl\" import M\nblock Head(x) { return x |> linear(10) }\n");
  EXPECT_EQ(compileMain(), "head.dl:1:6: error: 'main.dl' imports this file, directly or not\nfrom "
                           "\"main.dl\" import M\n     ^~~~~~~~~\n");
}

TEST_F(ImportsTest, ANameArrivesOnce) {
  write("main.dl",
        std::string("from \"head.dl\" import Head\nblock Head(x) { return x }\n") + model);
  write("head.dl", "block Head(x) { return x |> linear(10) }\n");
  EXPECT_EQ(compileMain(),
            "main.dl:1:23: error: the name 'Head' is taken\nfrom \"head.dl\" import Head\n         "
            "             ^~~~\nmain.dl:2:7: note: first declared here\n");
}

TEST_F(ImportsTest, ErrorsInsideAnImportedFileNameIt) {
  write("main.dl", std::string("from \"head.dl\" import Head\n") + model);
  write("head.dl", "block Head(x) { return x |> linaer(10) }\n");
  EXPECT_EQ(compileMain(), R"(head.dl:1:29: error: unknown name 'linaer'
block Head(x) { return x |> linaer(10) }
                            ^~~~~~ did you mean 'linear'?
main.dl:3:46: note: in Head1, called here
)");
}

TEST_F(ImportsTest, AFileThatIsNotThere) {
  EXPECT_EQ(compileMain(), "error: cannot read 'main.dl': No such file or directory\n");
}

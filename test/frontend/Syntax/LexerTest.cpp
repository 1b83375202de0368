// Tokens, columns and the rendering of diagnostics.
#include "frontend/DL/Syntax/Lexer.h"

#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace dlc::frontend;

static std::vector<Token> lex(llvm::StringRef text, DiagnosticEngine &engine) {
  static SourceManager sources;
  return tokenize(sources, sources.add("test.dl", text), engine);
}

static std::string kinds(llvm::StringRef text) {
  DiagnosticEngine engine;
  std::string result;
  for (const Token &token : lex(text, engine))
    result += describe(token) + " ";
  EXPECT_FALSE(engine.hasErrors());
  return result;
}

TEST(Lexer, TakesTheLongestSign) {
  EXPECT_EQ(kinds("a|>b->c**d*e<=f<g==h=i!=j"),
            "'a' '|>' 'b' '->' 'c' '**' 'd' '*' 'e' '<=' 'f' '<' 'g' '==' 'h' '=' 'i' '!=' 'j' the "
            "end of the file ");
}

TEST(Lexer, TellsNumbersApart) {
  DiagnosticEngine engine;
  auto tokens = lex("1 1.5 1e3 2.5e-3 1.x", engine);
  EXPECT_TRUE(tokens[0].is(TokenKind::Integer));
  EXPECT_TRUE(tokens[1].is(TokenKind::Float));
  EXPECT_TRUE(tokens[2].is(TokenKind::Float));
  EXPECT_TRUE(tokens[3].is(TokenKind::Float));
  EXPECT_TRUE(tokens[4].is(TokenKind::Integer));
  EXPECT_TRUE(tokens[5].is(TokenKind::Dot));
}

TEST(Lexer, KnowsWordsAndTypes) {
  EXPECT_EQ(kinds("for forx _ _x f32 f33 bool"),
            "'for' 'forx' '_' '_x' 'f32' 'f33' 'bool' the end of the file ");
}

TEST(Lexer, KeepsDocumentation) {
  DiagnosticEngine engine;
  auto tokens = lex("/// First line.\n///  second\n// not this\nx //// nor this\ny", engine);
  EXPECT_EQ(tokens[0].documentation, "First line.\n second");
  EXPECT_EQ(tokens[1].documentation, "");
}

TEST(Lexer, KnowsWhatBeginsALine) {
  DiagnosticEngine engine;
  auto tokens = lex("a b // c\n\r\n d", engine);
  EXPECT_TRUE(tokens[0].startsLine);
  EXPECT_FALSE(tokens[1].startsLine);
  EXPECT_TRUE(tokens[2].startsLine);
}

TEST(Lexer, ResolvesEscapes) { EXPECT_EQ(stringValue(R"("a\"b\\c\n\t")"), "a\"b\\c\n\t"); }

static std::string rendered(llvm::StringRef text, SourceRange range) {
  SourceManager sources;
  range.file = sources.add("test.dl", text);
  DiagnosticEngine engine;
  engine.error(range, "wrong").hint("do this").note({range.file, 0, 1}, "begun here");
  std::string result;
  llvm::raw_string_ostream out(result);
  render(engine, sources, out);
  return result;
}

TEST(Diagnostics, CountCharactersNotBytes) {
  EXPECT_EQ(
      rendered("\"äöü\" x\n", {0, 9, 1}),
      "test.dl:1:7: error: wrong\n\"äöü\" x\n      ^ do this\ntest.dl:1:1: note: begun here\n");
}

TEST(Diagnostics, KeepTabsAndDropLineEnds) {
  EXPECT_EQ(rendered("a\r\n\tbc d\r\n", {0, 4, 2}),
            "test.dl:2:2: error: wrong\n\tbc d\n\t^~ do this\ntest.dl:1:1: note: begun here\n");
}

TEST(Diagnostics, MarkARangeToTheEndOfItsLine) {
  EXPECT_EQ(rendered("abc\ndef", {0, 1, 5}),
            "test.dl:1:2: error: wrong\nabc\n ^~ do this\ntest.dl:1:1: note: begun here\n");
}

TEST(Diagnostics, CutLongLines) {
  std::string text(1000, 'a');
  text[500] = 'b';
  EXPECT_EQ(rendered(text, {0, 500, 1}),
            "test.dl:1:501: error: wrong\n..." + std::string(80, 'a') + "b" + std::string(79, 'a') +
                "...\n" + std::string(83, ' ') + "^ do this\ntest.dl:1:1: note: begun here\n");
}

TEST(Diagnostics, SayOnePlaceOnce) {
  DiagnosticEngine engine;
  engine.error({0, 5, 1}, "first");
  engine.error({0, 5, 2}, "again");
  engine.error({0, 6, 1}, "second");
  ASSERT_EQ(engine.diagnostics().size(), 2u);
  EXPECT_EQ(engine.diagnostics()[1].message, "second");
}

TEST(Diagnostics, StopAfterTwentyErrors) {
  DiagnosticEngine engine;
  for (uint32_t i = 0; i < 30; ++i)
    engine.error({0, i, 1}, "wrong");
  EXPECT_EQ(engine.errorCount(), 20u);
  EXPECT_TRUE(engine.isFull());
}

TEST(Diagnostics, SuggestOnlyWhatIsNear) {
  EXPECT_EQ(nearestName("pading", {"padding", "stride"}), "padding");
  EXPECT_EQ(nearestName("xyz", {"padding", "stride"}), "");
  EXPECT_EQ(nearestName("x", {"y"}), "");
}

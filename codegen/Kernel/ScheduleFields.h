//===- ScheduleFields.h - what a schedule holds, as text and as data ----------------*- C++ -*-===//
//
// A schedule names its fields once, each with the words in front of it:
//
//   template <typename Self, typename Fields> static void fields(Self &s, Fields &f) {
//     f("gemm ", s.rows);
//     f("x", s.vectors);
//     f(" in place", s.inPlace);     // said where it is so
//     f(s.kernel);                   // one of a few that have names
//   }
//
// Its text follows from them: "gemm 14x2 in place". Plan files, reports and the identity of kernels
// have it. So do the numbers that a candidate keeps for the generator that emits it.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNEL_SCHEDULEFIELDS_H
#define DLC_CODEGEN_KERNEL_SCHEDULEFIELDS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace dlc::codegen {

/// The words of an enumeration's value.
template <typename Enum> using WordsOf = llvm::StringRef (*)(Enum);

class FieldText {
public:
  void operator()(llvm::StringRef words, int64_t number) { stream << words << number; }
  void operator()(llvm::StringRef words, bool isSo) { stream << (isSo ? words : ""); }
  template <typename Enum> void operator()(WordsOf<Enum> words, Enum value) {
    stream << words(value);
  }
  void operator()(llvm::ArrayRef<int64_t> extents) { llvm::interleave(extents, stream, "x"); }
  template <typename Named> void operator()(const Named *one) { stream << one->suffix(); }

  std::string text;

private:
  llvm::raw_string_ostream stream{text};
};

class FieldNumbers {
public:
  void operator()(llvm::StringRef, int64_t number) { numbers.push_back(number); }
  template <typename Enum> void operator()(WordsOf<Enum>, Enum value) {
    numbers.push_back(int64_t(value));
  }
  void operator()(llvm::ArrayRef<int64_t> extents) {
    numbers.push_back(llvm::json::Array(extents));
  }
  template <typename Named> void operator()(const Named *one) { numbers.push_back(one->name()); }

  llvm::json::Array numbers;
};

class FieldReader {
public:
  explicit FieldReader(const llvm::json::Value &numbers) : next(numbers.getAsArray()->begin()) {}
  template <typename Number> void operator()(llvm::StringRef, Number &number) {
    number = Number(take());
  }
  template <typename Enum> void operator()(WordsOf<Enum>, Enum &value) { value = Enum(take()); }
  void operator()(llvm::SmallVectorImpl<int64_t> &extents) {
    for (const llvm::json::Value &extent : *(next++)->getAsArray())
      extents.push_back(*extent.getAsInteger());
  }
  template <typename Named> void operator()(const Named *&one) {
    one = &Named::get(*(next++)->getAsString());
  }

private:
  int64_t take() { return *(next++)->getAsInteger(); }
  llvm::json::Array::const_iterator next;
};

template <typename Schedule> std::string textOf(const Schedule &schedule) {
  FieldText text;
  Schedule::fields(schedule, text);
  return std::move(text.text);
}

template <typename Schedule> llvm::json::Value numbersOf(const Schedule &schedule) {
  FieldNumbers numbers;
  Schedule::fields(schedule, numbers);
  return std::move(numbers.numbers);
}

/// Of what numbersOf has made of a schedule of this type.
template <typename Schedule> Schedule scheduleOf(const llvm::json::Value &numbers) {
  Schedule schedule;
  FieldReader reader(numbers);
  Schedule::fields(schedule, reader);
  return schedule;
}

} // namespace dlc::codegen

#endif

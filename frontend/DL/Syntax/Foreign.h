// Words that people bring along from PyTorch, Keras and Caffe: hints that say what they are called
// here. Each falls back to the nearest of the names that exist.
#ifndef DLC_FRONTEND_DL_SYNTAX_FOREIGN_H
#define DLC_FRONTEND_DL_SYNTAX_FOREIGN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace dlc::frontend {

/// The one of `candidates` that a foreign name stands for: "linear" for Linear, "batch_norm" for
/// BatchNorm2d, "concat" for cat; empty if there is none.
llvm::StringRef nativeName(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);

/// For a name that is not bound.
std::string hintForName(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);
/// For a keyword argument that `candidates`, those of the call, does not have.
std::string hintForArgument(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);
/// For a binding of a section that nothing reads.
std::string hintForSetting(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> settings);
/// For a word where a statement or an item begins; empty if it is none of another language.
llvm::StringRef hintForStatement(llvm::StringRef word);
/// For a statement `object.method(...)`, which the language does not have.
std::string hintForMethod(llvm::StringRef object, llvm::StringRef method);
/// For a member of a tensor, written as `source`, that stands for no function here.
std::string hintForMember(llvm::StringRef source, llvm::StringRef member);
/// For a value of another kind than the built-in takes; empty if nothing is known to be meant.
std::string hintForValue(llvm::StringRef builtin, bool isTensor, llvm::StringRef source);
/// How another framework calls an algorithm for convolutions.
struct ForeignAlgorithm {
  llvm::StringLiteral word;
  llvm::StringLiteral native;
  llvm::StringLiteral whose;
  llvm::StringLiteral hint = ""; ///< empty: the native name says it all
};
/// Null for a word that is none, in any case of letters.
const ForeignAlgorithm *findForeignAlgorithm(llvm::StringRef word);
/// For a word where a type stands.
std::string hintForType(llvm::StringRef word);

/// Whether elsewhere the axis that counts samples is called so.
bool isBatchElsewhere(llvm::StringRef dimension);

} // namespace dlc::frontend

#endif

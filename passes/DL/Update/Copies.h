//===- Copies.h - parameters in 16 bits beside themselves ---------------------------*- C++ -*-===//
//
//   %w = dl.read @w : tensor<5x3xf32>                    %h = dl.read @w.bf16 : tensor<5x3xbf16>
//   %h = dl.cast %w : ... to tensor<5x3xbf16>    ->      %y = dl.matmul %x, %h
//   %y = dl.matmul %x, %h                                ...
//   ...                                                  %new:2 = dl.multi_tensor(%w, %dw) ...
//   %new = dl.multi_tensor(%w, %dw) ...                  dl.assign @w, %new#0
//   dl.assign @w, %new                                   dl.assign @w.bf16, %new#1
//
// A variable of role `derived`: no checkpoint has it, and the entry `prepare` makes it of the
// parameter where that was written otherwise. So no step passes over a weight to round it.
//
// Where entries that train have no masters, a parameter that entries which train round to one type
// is of that type itself, and what reads it otherwise widens it:
//
//   dl.variable @w : tensor<5x3xf32>          ->         dl.variable @w : tensor<5x3xbf16>
//   %w = dl.read @w : tensor<5x3xf32>                    %h = dl.read @w : tensor<5x3xbf16>
//   %h = dl.cast %w : ... to tensor<5x3xbf16>            %w = dl.cast %h : ... to tensor<5x3xf32>
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_UPDATE_COPIES_H
#define DLC_PASSES_DL_UPDATE_COPIES_H

#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "llvm/ADT/MapVector.h"

namespace dlc::dl {

class Copies {
public:
  Copies(mlir::ModuleOp module, mlir::SymbolTable &symbols) : module(module), symbols(symbols) {}

  /// Makes those of the parameters that entries which train round, or rounds the parameters.
  void make();
  /// Puts them in the place of what `entry` rounds.
  void use(EntryOp entry);
  /// Has `prepare` make them.
  void prepare();
  /// Whether parameters that are rounded have masters: false behind `make` where an entry has none.
  bool keepMasters() const { return haveMasters; }
  /// Of `parameter`, in the order of their making.
  llvm::SmallVector<VariableOp, 1> of(VariableOp parameter) const;

private:
  llvm::MapVector<VariableOp, llvm::SmallVector<CastOp>> findRounded();
  void dropMasters();
  VariableOp find(CastOp cast) const;

  mlir::ModuleOp module;
  mlir::SymbolTable &symbols;
  bool haveMasters = true;
  llvm::MapVector<std::pair<mlir::StringAttr, mlir::Type>, VariableOp> copies;
};

} // namespace dlc::dl

#endif

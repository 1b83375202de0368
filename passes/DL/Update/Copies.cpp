//===- Copies.cpp - parameters in 16 bits beside themselves -----------------------------------===//
#include "passes/DL/Update/Copies.h"
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "passes/DL/Choice/Prepare.h"
#include "passes/DL/Precision/NarrowVariables.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

/// The variable that is rounded to 16 bits, as the entry begins; null if `cast` is none of that.
static ReadOp roundedBy(CastOp cast) {
  auto read = cast.getX().getDefiningOp<ReadOp>();
  return read && getElementTypeOrSelf(cast.getX()).isF32() &&
                 getElementTypeOrSelf(cast.getY()).isFloat(16)
             ? read
             : ReadOp();
}

static StringRef spell(Type type) { return type.isBF16() ? "bf16" : "f16"; }

VariableOp Copies::find(CastOp cast) const {
  ReadOp read = roundedBy(cast);
  return read ? copies.lookup({read.getVariableAttr().getAttr(), getElementTypeOrSelf(cast.getY())})
              : VariableOp();
}

/// The parameters that entries which train round, each with the casts that do.
llvm::MapVector<VariableOp, SmallVector<CastOp>> Copies::findRounded() {
  llvm::MapVector<VariableOp, SmallVector<CastOp>> found;
  for (EntryOp entry : module.getOps<EntryOp>())
    for (CastOp cast : entry.getBlock().getOps<CastOp>()) {
      ReadOp read = roundedBy(cast);
      auto parameter =
          read ? symbols.lookup<VariableOp>(read.getVariableAttr().getAttr()) : VariableOp();
      if (entry.getUpdates() && parameter && parameter.getRole() == program::Role::Parameter)
        found[parameter].push_back(cast);
    }
  return found;
}

void Copies::dropMasters() {
  for (EntryOp entry : module.getOps<EntryOp>())
    haveMasters &= !entry->removeAttr(withoutMastersName);
  if (haveMasters)
    return;
  llvm::DenseMap<StringAttr, SmallVector<ReadOp>> reads;
  for (EntryOp entry : module.getOps<EntryOp>())
    for (ReadOp read : entry.getBlock().getOps<ReadOp>())
      reads[read.getVariableAttr().getAttr()].push_back(read);
  for (auto &[parameter, casts] : findRounded())
    if (llvm::all_equal(llvm::map_range(casts, [](CastOp cast) { return cast.getType(); })))
      storeIn(cast<FloatType>(casts.front().getType().getElementType()), parameter,
              reads[parameter.getSymNameAttr()]);
}

void Copies::make() {
  dropMasters();
  for (auto &[parameter, casts] : findRounded())
    for (CastOp cast : casts) {
      Type type = getElementTypeOrSelf(cast.getY());
      VariableOp &copy = copies[{parameter.getSymNameAttr(), type}];
      if (copy)
        continue;
      OpBuilder builder(parameter->getContext());
      builder.setInsertionPointAfter(parameter);
      auto zero = program::InitialiserAttr::get(builder.getContext(),
                                                program::InitialiserKind::Constant, 0);
      copy = VariableOp::create(
          builder, parameter.getLoc(), (parameter.getSymName() + "." + spell(type)).str(),
          parameter.getTensorType().clone(type), program::Role::Derived, zero, FlatSymbolRefAttr());
      symbols.insert(copy);
    }
}

void Copies::use(EntryOp entry) {
  llvm::DenseMap<VariableOp, ReadOp> reads;
  for (CastOp cast : llvm::make_early_inc_range(entry.getBlock().getOps<CastOp>())) {
    VariableOp copy = find(cast);
    if (!copy)
      continue;
    ReadOp parameter = roundedBy(cast), &read = reads[copy];
    if (!read) {
      OpBuilder builder(entry.getContext());
      builder.setInsertionPointAfter(parameter);
      read = ReadOp::create(builder, cast.getLoc(), copy.getTensorType(), copy.getSymName());
    }
    cast.replaceAllUsesWith(read.getResult());
    cast.erase();
    if (parameter->use_empty())
      parameter.erase();
  }
}

void Copies::prepare() {
  const bool anyIsHalf = llvm::any_of(module.getOps<VariableOp>(), [](VariableOp variable) {
    return variable.getRole() == program::Role::Parameter &&
           variable.getTensorType().getElementType().isFloat(16);
  });
  // Gradients lie for updates in f32 alone, and for norms, as they do for those with 16 bits.
  if (anyIsHalf || !copies.empty())
    module->setAttr(narrowestName, OpBuilder(module).getI64IntegerAttr(16));
  if (copies.empty())
    return;
  EntryOp entry = getPrepare(module);
  if (!symbols.lookup(entry.getSymName()))
    symbols.insert(entry);
  OpBuilder builder(entry.getReturn());
  for (auto &[key, copy] : copies) {
    auto parameter = symbols.lookup<VariableOp>(key.first);
    TensorBuilder b{builder, copy.getLoc()};
    Value value = ReadOp::create(builder, copy.getLoc(), parameter.getTensorType(), key.first);
    AssignOp::create(builder, copy.getLoc(), copy.getSymName(), b.cast(value, key.second));
  }
}

SmallVector<VariableOp, 1> Copies::of(VariableOp parameter) const {
  SmallVector<VariableOp, 1> found;
  for (auto &[key, copy] : copies)
    if (key.first == parameter.getSymNameAttr())
      found.push_back(copy);
  return found;
}

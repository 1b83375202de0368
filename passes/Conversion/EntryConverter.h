//===- EntryConverter.h - one dl.entry becomes one exec.program ---------------------*- C++ -*-===//
//
// Two steps. Planning decides where values are computed: a gradient in its group's flat buffer, an
// assigned value in its variable, a sum over ranks where its operand lies, a part of a dl.concat in
// the whole. Emission then walks the
// entry once, in order, and makes buffers and records. What planning could not place is copied:
// before the launch that needs it flat, or at the end into its variable.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_CONVERSION_ENTRYCONVERTER_H
#define DLC_PASSES_CONVERSION_ENTRYCONVERTER_H

#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "passes/Conversion/OutlineKernels.h"
#include "passes/Conversion/StateLayout.h"
#include "passes/Conversion/Storage.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace dlc::dl {
class AllReduceOp;
} // namespace dlc::dl

namespace dlc {

/// The scalars block: offsets of the numbers, by name. Shared by all entries.
class ScalarLayout {
public:
  /// Fails with an error if the name is known with another default or type.
  mlir::FailureOr<int64_t> getOffset(dl::ScalarOp op);

private:
  struct Place {
    dl::ScalarOp op; ///< the first of the name
    int64_t offset;  ///< a multiple of its bytes
  };
  llvm::MapVector<llvm::StringRef, Place> scalars;
  int64_t end = 0;
};

class EntryConverter {
public:
  EntryConverter(dl::EntryOp entry, const StateLayout &state, KernelOutliner &kernels,
                 ScalarLayout &scalars);

  mlir::LogicalResult convert();

private:
  /// A stream of a multi_tensor in memory: a range of the state, or a buffer of the arena into
  /// which its tensors are written or copied.
  struct Stream {
    mlir::Value flat;
    llvm::SmallVector<bool>
        copied; ///< tensor i has to be copied into the flat buffer; empty if all lie there
  };

  // Planning.
  void planInPlace();
  void planStreams(dl::MultiTensorOp op);
  void planFlatResults(dl::MultiTensorOp op);
  void planReduction(dl::AllReduceOp op);
  void planJoin(dl::IndexOp op);
  void planAssignment(dl::AssignOp assign);
  bool isReducedInPlace(dl::AllReduceOp op, unsigned number);
  mlir::Value memoryOf(mlir::Value value);
  bool canOverwrite(llvm::StringRef variable, mlir::Operation *producer,
                    llvm::function_ref<bool(mlir::OpOperand &)> allowed);

  // Emission.
  void createProgram();
  mlir::LogicalResult emit(mlir::Operation *op);
  void emitRead(dl::ReadOp op);
  mlir::LogicalResult emitPlacement(dl::IndexOp op);
  void emitJoin(dl::IndexOp op);
  mlir::LogicalResult emitFused(dl::FusedOp op);
  void gatherStream(dl::MultiTensorOp op, size_t number);
  mlir::LogicalResult emitMultiTensor(dl::MultiTensorOp op);
  void emitUpdateRows(dl::UpdateRowsOp op);
  void emitAllReduce(dl::AllReduceOp op);
  void emitReduction(dl::AllReduceOp op, llvm::ArrayRef<unsigned> tensors);
  mlir::LogicalResult emitScalar(dl::ScalarOp op);
  mlir::Value bufferAtEnd(mlir::Value value);
  void emitAssignments();
  void emitOutputs();

  // Small parts.
  exec::BufferType bufferType(int64_t bytes);
  mlir::Value createAlloc(int64_t bytes, mlir::Location loc);
  mlir::Value createView(mlir::Value source, int64_t offset, int64_t bytes, mlir::Location loc);
  mlir::Value createView(mlir::Value source, dl::IndexOp piece);
  llvm::SmallVector<mlir::Value> createPartViews(dl::IndexOp join, mlir::Value whole);
  mlir::Value createConstant(mlir::DenseElementsAttr value, mlir::Location loc);
  mlir::Value createState(llvm::StringRef variable, int64_t bytes, mlir::Location loc);
  mlir::Value createCopy(mlir::Value source, llvm::StringRef name);
  void createCopy(mlir::Value source, mlir::Value destination, llvm::StringRef name);
  exec::LaunchOp createLaunch(exec::KernelOp kernel, llvm::ArrayRef<mlir::Value> arguments,
                              mlir::Location loc);

  dl::EntryOp entry;
  const StateLayout &state;
  KernelOutliner &kernels;
  ScalarLayout &scalars;
  exec::ProgramOp program;
  mlir::OpBuilder builder;

  llvm::DenseMap<mlir::Value, llvm::SmallVector<dl::AssignOp, 1>>
      assignments;                          ///< by the assigned value
  llvm::DenseSet<llvm::StringRef> assigned; ///< variables
  llvm::DenseMap<llvm::StringRef, llvm::SmallVector<mlir::Value, 1>> reads; ///< of each variable
  llvm::DenseMap<mlir::Value, mlir::Value> placed; ///< values with a buffer chosen by planning
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Stream>> streams;
  /// Flat buffers of the arena, by what lies in them and where.
  std::map<std::pair<std::vector<void *>, std::vector<int64_t>>, mlir::Value> flatStreams;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>>
      flatResults; ///< ranges of the state, or null
  llvm::DenseSet<mlir::Operation *> assignedInPlace;
  llvm::DenseMap<mlir::Value, mlir::Value>
      snapshots; ///< copies of old values that are needed at the end
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
};

} // namespace dlc

#endif

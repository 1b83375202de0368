//===- ProgramOps.td - what a program says beside its entries ---------------------------------===//
#ifndef DLC_PROGRAM_OPS_TD
#define DLC_PROGRAM_OPS_TD

include "dialects/Program/ProgramDialect.td"

def Program_SettingsOp : Op<Program_Dialect, "settings", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "numbers that a module has for who runs it";
  let description = [{
    `epochs`: how often a run passes over its samples, unless told otherwise. `operations`: a hash
    of the models' ops, by which a checkpoint knows its own. `reference_batch`: the batch that the
    learning rate is given for. Each is a setting of the plan, under its name.
    ```mlir
    program.settings {epochs = 2 : i64, operations = 1234 : i64}
    ```
    (C1) A module has one at most.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$epochs, OptionalAttr<I64Attr>:$operations,
      OptionalAttr<I64Attr>:$reference_batch);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// That of a module, made at its beginning if there is none yet.
    static SettingsOp getOrCreate(::mlir::ModuleOp module);
  }];
}

#endif

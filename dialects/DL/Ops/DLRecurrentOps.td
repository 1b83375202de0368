//===- DLRecurrentOps.td - recurrent layers, whole over the sequence --------------------------===//
// One layer in one direction each. What its input gives to the gates is one product for all steps,
// in front of the op; what it learns from is one product behind its backward op.
#ifndef DLC_DL_RECURRENT_OPS_TD
#define DLC_DL_RECURRENT_OPS_TD

include "dialects/DL/DLOpBase.td"

class DL_Recurrent<string mnemonic, list<Trait> traits = []>
    : DL_Op<mnemonic, !listconcat(traits, [Pure, DL_Decomposable])>;

// Of x, [steps, samples, gates * units].
class DL_StateOf<int gates, string x, string state>
    : TypesMatchWith<state#" is one state of "#x, x, state,
                     "::dlc::dl::stateType($_self, "#gates#")">;
class DL_StatesOf<int gates, string x, string states>
    : TypesMatchWith<states#" has one state more than "#x#" has steps", x, states,
                     "::dlc::dl::statesType($_self, "#gates#")">;
class DL_StateWeightOf<int gates, string x, string w>
    : TypesMatchWith<w#" has a row for each gate's unit of "#x#", of as many units", x, w,
                     "::dlc::dl::stateWeightType($_self, "#gates#")">;

defvar stepsFormat = " (`mask` `(` $mask^ `:` type($mask) `)`)? (`reverse` $reverse^)? attr-dict "
                     "`:` type($x)";

def DL_LstmOp : DL_Recurrent<"lstm", [
    DL_Differentiable, AllTypesMatch<["x", "gates"]>, DL_StateOf<4, "x", "h">,
    DL_StateOf<4, "x", "c">, DL_StateWeightOf<4, "x", "w">, DL_StatesOf<4, "x", "hs">,
    DL_StatesOf<4, "x", "cs">]> {
  let summary = "the steps of an LSTM layer";
  let description = [{
    Hochreiter and Schmidhuber (1997), with Gers, Schmidhuber and Cummins' forget gate (2000). With
    the gates' columns of gates[t] = x[t] + h w^T in the order i, f, g, o: c' = sigmoid(f) * c +
    sigmoid(i) * tanh(g), h' = sigmoid(o) * tanh(c').
    `%hs, %cs, %gates = dl.lstm %x, %h, %c, %w : tensor<7x3x24xf32>` has 7 steps of 3 samples and 6
    units. hs and cs hold all states: the given ones first, that behind step t at t + 1. With
    `reverse` the last step comes first: the given states are the last ones, that behind step t is
    at t. A step whose `mask` is false for a sample leaves its states as they are, whatever its x
    is: `%hs, %cs, %gates = dl.lstm %x, %h, %c, %w mask(%m : tensor<7x3xi1>) : tensor<7x3x24xf32>`.
    (C1) x is [steps, samples, 4 * units], with a step. (C2) the mask is [steps, samples].
    Gradient: dl.lstm_backward, and one product for w. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$h, DL_FloatTensor:$c, DL_FloatTensor:$w,
      Optional<DL_BoolTensor>:$mask, UnitAttr:$reverse);
  let results = (outs DL_FloatTensor:$hs, DL_FloatTensor:$cs, DL_FloatTensor:$gates);
  let assemblyFormat = !strconcat("$x `,` $h `,` $c `,` $w", stepsFormat);
  let hasVerifier = 1;
}

def DL_LstmBackwardOp : DL_Recurrent<"lstm_backward", [
    AllTypesMatch<["x", "dgates", "dx"]>, DL_StatesOf<4, "x", "dhs">, DL_StatesOf<4, "x", "dcs">,
    DL_StatesOf<4, "x", "cs">, DL_StateWeightOf<4, "x", "w">, DL_StateOf<4, "x", "dh">,
    DL_StateOf<4, "x", "dc">]> {
  let summary = "gradients of dl.lstm, from its last step to its first";
  let description = [{
    From those of its three results, those of its input and of the states that it was given; x are
    its gates, cs its states.
    `%dx, %dh, %dc = dl.lstm_backward %dhs, %dcs, %dgates, %gates, %cs, %w : tensor<7x3x24xf32>`
    Constraints as dl.lstm's. Gradient: that of its decomposition. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$dhs, DL_FloatTensor:$dcs, DL_FloatTensor:$dgates,
      DL_FloatTensor:$x, DL_FloatTensor:$cs, DL_FloatTensor:$w,
      Optional<DL_BoolTensor>:$mask, UnitAttr:$reverse);
  let results = (outs DL_FloatTensor:$dx, DL_FloatTensor:$dh, DL_FloatTensor:$dc);
  let assemblyFormat =
      !strconcat("$dhs `,` $dcs `,` $dgates `,` $x `,` $cs `,` $w", stepsFormat);
  let hasVerifier = 1;
}

def DL_GruOp : DL_Recurrent<"gru", [
    DL_Differentiable, AttrSizedOperandSegments, AllTypesMatch<["x", "products"]>,
    DL_StateOf<3, "x", "h">, DL_StateWeightOf<3, "x", "w">, DL_StatesOf<3, "x", "hs">]> {
  let summary = "the steps of a GRU layer";
  let description = [{
    Cho et al. (2014), with the reset gate behind the product as cuDNN and PyTorch have it. With p =
    products[t] = h w^T + bias and the gates' columns in the order r, z, n: r = sigmoid(x_r + p_r),
    z = sigmoid(x_z + p_z), n = tanh(x_n + r * p_n), h' = n + z * (h - n).
    `%hs, %products = dl.gru %x, %h, %w bias(%b : tensor<18xf32>) : tensor<7x3x18xf32>` has 7 steps
    of 3 samples and 6 units. States, `mask` and `reverse` are as dl.lstm's.
    (C1) x is [steps, samples, 3 * units], with a step. (C2) the mask is [steps, samples]. (C3) the
    bias has one number for each row of w.
    Gradient: dl.gru_backward, one product for w, one sum for the bias. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$x, DL_FloatTensor:$h, DL_FloatTensor:$w,
      Optional<DL_FloatTensor>:$bias, Optional<DL_BoolTensor>:$mask, UnitAttr:$reverse);
  let results = (outs DL_FloatTensor:$hs, DL_FloatTensor:$products);
  let assemblyFormat = !strconcat(
      "$x `,` $h `,` $w (`bias` `(` $bias^ `:` type($bias) `)`)?", stepsFormat);
  let hasVerifier = 1;
}

def DL_GruBackwardOp : DL_Recurrent<"gru_backward", [
    AllTypesMatch<["x", "dproducts", "products", "dx", "dp"]>, DL_StatesOf<3, "x", "dhs">,
    DL_StatesOf<3, "x", "hs">, DL_StateWeightOf<3, "x", "w">, DL_StateOf<3, "x", "dh">]> {
  let summary = "gradients of dl.gru, from its last step to its first";
  let description = [{
    From those of its two results, those of its input, of its products and of the state that it was
    given.
    `%dx, %dp, %dh = dl.gru_backward %dhs, %dproducts, %x, %products, %hs, %w : tensor<7x3x18xf32>`
    Constraints as dl.gru's. Gradient: that of its decomposition. Composite.
  }];
  let arguments = (ins DL_FloatTensor:$dhs, DL_FloatTensor:$dproducts, DL_FloatTensor:$x,
      DL_FloatTensor:$products, DL_FloatTensor:$hs, DL_FloatTensor:$w,
      Optional<DL_BoolTensor>:$mask, UnitAttr:$reverse);
  let results = (outs DL_FloatTensor:$dx, DL_FloatTensor:$dp, DL_FloatTensor:$dh);
  let assemblyFormat =
      !strconcat("$dhs `,` $dproducts `,` $x `,` $products `,` $hs `,` $w", stepsFormat);
  let hasVerifier = 1;
}

#endif

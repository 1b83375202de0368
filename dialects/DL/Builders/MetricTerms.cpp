//===- MetricTerms.cpp - how a loss or metric adds up over batches and ranks ------------------===//
#include "dialects/DL/Builders/MetricTerms.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace dlc::dl;

MetricTerms dlc::dl::scaled(MetricTerms terms, double factor) {
  for (MetricTerm &term : terms)
    term.coefficient *= factor;
  return terms;
}

MetricTerms dlc::dl::added(MetricTerms a, const MetricTerms &b, double factor) {
  llvm::DenseMap<mlir::Value, size_t> places;
  for (auto [i, term] : llvm::enumerate(a))
    places[term.sum] = i;
  for (MetricTerm term : b) {
    term.coefficient *= factor;
    auto [place, isNew] = places.try_emplace(term.sum, a.size());
    if (isNew)
      a.push_back(term);
    else
      a[place->second].coefficient += term.coefficient;
  }
  return a;
}

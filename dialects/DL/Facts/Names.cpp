//===- Names.cpp - layer and stage of an op ---------------------------------------------------===//
#include "dialects/DL/Facts/Names.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

/// The NameLoc within `loc`: behind a call, the callee's; of several locations, the first's.
static NameLoc findName(Location loc) {
  return llvm::TypeSwitch<LocationAttr, NameLoc>(loc)
      .Case([](NameLoc name) { return name; })
      .Case([](CallSiteLoc call) { return findName(call.getCallee()); })
      .Case([](FusedLoc fused) {
        for (Location part : fused.getLocations())
          if (NameLoc name = findName(part))
            return name;
        return NameLoc();
      })
      .Default([](LocationAttr) { return NameLoc(); });
}

std::string dlc::dl::qualifiedName(Location loc) {
  NameLoc name = findName(loc);
  return name ? name.getName().str() : std::string();
}

std::string dlc::dl::layerName(Operation *op) {
  std::string name = qualifiedName(op->getLoc());
  return StringRef(name).split('/').first.str();
}

std::string dlc::dl::stageName(Operation *op) {
  std::string name = qualifiedName(op->getLoc());
  return StringRef(name).split('/').second.str();
}

std::string dlc::dl::writtenName(Location loc) {
  NameLoc name = findName(loc);
  auto written = name ? dyn_cast<NameLoc>(name.getChildLoc()) : NameLoc();
  return written ? written.getName().str() : std::string();
}

std::string dlc::dl::gradientStage(StringRef parameter) {
  return parameter.empty() ? "backward" : ("backward_" + parameter).str();
}

Location dlc::dl::stageLoc(Location loc, StringRef stage) {
  NameLoc name = findName(loc);
  Location source = name ? name.getChildLoc() : loc;
  StringRef layer = name ? name.getName().strref().split('/').first : StringRef();
  return NameLoc::get(StringAttr::get(loc.getContext(), layer + "/" + stage), source);
}

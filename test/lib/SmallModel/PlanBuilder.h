// Assembles a plan from the ABI's structs, for tests of what reads plans. The tables are open, so
// that a test can break any field before the blob is made.
#ifndef DLC_TEST_LIB_SMALLMODEL_PLANBUILDER_H
#define DLC_TEST_LIB_SMALLMODEL_PLANBUILDER_H

#include "dlc/abi.h"

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::test {

struct PlanBuilder {
  dlc_plan_header header = {};
  std::string strings;
  std::vector<std::byte> constants;
  std::vector<dlc_variable> variables;
  std::vector<dlc_scalar> scalars;
  std::vector<dlc_entry> entries;
  std::vector<dlc_value> values;
  std::vector<dlc_metric> metrics;
  std::vector<dlc_term> terms;
  std::vector<dlc_kernel> kernels;
  std::vector<dlc_record> records;
  std::vector<dlc_argument> arguments;
  std::vector<uint64_t> immediates;
  std::vector<dlc_step> steps;
  std::vector<dlc_schedule_part> schedule;
  std::vector<dlc_setting> settings;
  std::vector<dlc_image> images;
  std::vector<std::byte> imageBytes;
  std::vector<dlc_library_call> calls;
  /// What the kernels added from now on are for.
  dlc_target target = DLC_TARGET_CPU;
  /// Where the records added from now on run.
  uint32_t stream = 0;

  dlc_string text(std::string_view content);
  static dlc_type type(dlc_dtype dtype, std::initializer_list<uint64_t> shape);

  /// Adds a variable behind those before it and returns its number.
  uint32_t variable(std::string_view name, dlc_type type, dlc_role role,
                    dlc_initialiser_kind initialiser, double a, double b, uint32_t of = DLC_NONE);
  uint32_t scalar(std::string_view name, double value);
  uint32_t kernel(std::string_view symbol, uint32_t function, uint32_t arguments,
                  uint32_t immediates, uint64_t scratch = 0);

  // Entries are built between beginEntry and endEntry: inputs, then outputs, then metrics and
  // records in any order.
  void beginEntry(std::string_view name, dlc_entry_kind kind, uint64_t batch);
  uint32_t input(std::string_view name, dlc_type type, uint32_t batchAxis = 0);
  uint32_t output(std::string_view name, dlc_type type, dlc_value_kind kind, dlc_argument location,
                  uint32_t of = DLC_NONE);
  void metric(std::string_view name, dlc_metric_kind kind, uint32_t sum, uint32_t count);
  /// A new buffer of the entry's arena.
  dlc_argument arena(uint64_t bytes);
  void launch(std::string_view name, uint32_t kernel, uint32_t tasks,
              std::vector<dlc_argument> buffers, std::vector<uint64_t> constants);
  /// A library call without immediates.
  void library(std::string_view name, const dlc_library_call &call,
               std::vector<dlc_argument> buffers);
  /// DLC_RECORD_RECORD_EVENT or DLC_RECORD_WAIT_EVENT on the current stream.
  void event(dlc_record_kind kind, uint32_t event);
  /// A collective of floats, in place, on the current stream.
  void sumOverRanks(std::string_view name, dlc_argument buffer, uint32_t channel);
  void endEntry();

  dlc_argument ofVariable(uint32_t variable) const;
  dlc_argument ofScalar(uint32_t scalar) const;
  dlc_argument ofInput(uint32_t number) const;

  std::vector<std::byte> blob() const;

private:
  dlc_entry &entry() { return entries.back(); }
};

dlc_argument reading(dlc_argument argument);
dlc_argument writing(dlc_argument argument);
dlc_argument updating(dlc_argument argument);

uint64_t bytesOf(const dlc_type &type);

} // namespace dlc::test

#endif

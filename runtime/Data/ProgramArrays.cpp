// A dataset in the arrays of the program, read where they lie.
#include "dlc/data.h"
#include "dlc/plan.h"
#include "runtime/Core/Support.h"

#include <algorithm>

namespace dlc::runtime {
namespace {

class ProgramArrays : public Dataset {
public:
  ProgramArrays(std::string name, std::vector<Array> given)
      : source(std::move(name)), arrays(std::move(given)) {
    for (const Array &array : arrays) {
      names.all.push_back(array.name);
      fieldList.push_back({.kind = FieldKind::Named,
                           .dtype = array.dtype,
                           .shape = {array.shape.begin() + 1, array.shape.end()},
                           .file = concat(source, ": '", array.name, "'"),
                           .name = array.name});
      sampleBytes.push_back(TensorType{array.dtype, array.shape, {}}.logicalBytes() / size());
    }
  }
  const std::string &name() const override { return source; }
  uint64_t size() const override { return arrays[0].shape[0]; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  const ArrayNames *arrayNames() const override { return &names; }
  const std::byte *sample(uint64_t index, size_t field) const override {
    return static_cast<const std::byte *>(arrays[field].data) + index * sampleBytes[field];
  }

private:
  std::string source;
  std::vector<Array> arrays;
  ArrayNames names;
  std::vector<uint64_t> sampleBytes;
  std::vector<DatasetField> fieldList;
};

Status check(const std::vector<Array> &arrays) {
  if (arrays.empty())
    return invalid("there are none");
  for (const Array &array : arrays) {
    const std::string name = concat("'", excerpt(array.name), "'");
    if (array.shape.empty())
      return invalid(name, " is one number, expected one a sample");
    if (array.shape[0] == 0)
      return invalid(name, " has no samples");
    if (array.shape[0] != arrays[0].shape[0])
      return invalid(name, " has ", array.shape[0], " samples, '", excerpt(arrays[0].name), "' ",
                     arrays[0].shape[0]);
    if (!array.data)
      return invalid(name, " has no data");
    if (array.place != Place::Host)
      return invalid(name, " lies on the device, samples are read on the host");
    if (std::ranges::count(arrays, array.name, &Array::name) > 1)
      return invalid("there are two arrays ", name);
  }
  return {};
}

} // namespace

Result<std::shared_ptr<const Dataset>> datasetOf(std::vector<Array> arrays, std::string name) {
  return guarded([&]() -> Result<std::shared_ptr<const Dataset>> {
    DLC_TRY(check(arrays).in(name));
    return std::shared_ptr<const Dataset>(
        std::make_shared<ProgramArrays>(std::move(name), std::move(arrays)));
  });
}

} // namespace dlc::runtime

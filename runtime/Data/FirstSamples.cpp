// All is that of the whole dataset, but for its size.
#include "runtime/Data/FirstSamples.h"

#include <algorithm>

namespace dlc::runtime {
namespace {

class FirstSamples : public Dataset {
public:
  FirstSamples(std::shared_ptr<const Dataset> all, uint64_t count)
      : all(std::move(all)), count(std::min(count, this->all->size())) {}
  const std::string &name() const override { return all->name(); }
  uint64_t size() const override { return count; }
  bool isSequence() const override { return all->isSequence(); }
  const std::vector<DatasetField> &fields() const override { return all->fields(); }
  const ArrayNames *arrayNames() const override { return all->arrayNames(); }
  const std::vector<std::string> *classNames() const override { return all->classNames(); }
  const std::byte *sample(uint64_t index, size_t field) const override {
    return all->sample(index, field);
  }
  Status read(uint64_t index, size_t field, std::span<std::byte> bytes) const override {
    return all->read(index, field, bytes);
  }
  Result<PictureRegion> readPicture(uint64_t index, size_t field, const PictureChooser &choose,
                                    Picture &picture) const override {
    return all->readPicture(index, field, choose, picture);
  }

private:
  std::shared_ptr<const Dataset> all;
  uint64_t count;
};

} // namespace

std::shared_ptr<const Dataset> firstSamples(std::shared_ptr<const Dataset> dataset,
                                            uint64_t count) {
  return std::make_shared<FirstSamples>(std::move(dataset), count);
}

} // namespace dlc::runtime

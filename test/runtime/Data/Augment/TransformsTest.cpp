// Lists of transforms: what is read, and what is said of those that are none.
#include "runtime/Data/Augment/Transforms.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

Transform only(std::string_view text) {
  Result<Augmentation> found = parseAugmentation(text);
  EXPECT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->train.all.size(), 1u);
  return found->train.all.at(0);
}

std::string refusal(std::string_view text) {
  return std::string(parseAugmentation(text).status().message());
}

TEST(Transforms, AreRead) {
  EXPECT_EQ(only("crop:4").height, 4u);
  EXPECT_EQ(only("flip").kind, TransformKind::Flip);
  const Transform shorter = only("resize:256");
  EXPECT_EQ(shorter.height, 256u);
  EXPECT_EQ(shorter.width, 0u);
  EXPECT_FALSE(shorter.setsSize());
  const Transform both = only("resize:32x48:bicubic");
  EXPECT_EQ(both.height, 32u);
  EXPECT_EQ(both.width, 48u);
  EXPECT_EQ(both.filter, Filter::Bicubic);
  EXPECT_TRUE(both.setsSize());
  const Transform part = only("random-resized-crop:224");
  EXPECT_EQ(part.width, 224u);
  EXPECT_EQ(part.filter, Filter::Bilinear);
  EXPECT_EQ(part.area.least, 0.08);
  EXPECT_EQ(part.area.most, 1);
  EXPECT_EQ(part.aspect.least, 0.75);
  EXPECT_EQ(part.aspect.most, 4.0 / 3);
  const Transform other = only("random-resized-crop:8x9:bicubic:aspect=0.5-2:area=0.25-0.5");
  EXPECT_EQ(other.width, 9u);
  EXPECT_EQ(other.area.least, 0.25);
  EXPECT_EQ(other.area.most, 0.5);
  EXPECT_EQ(other.aspect.least, 0.5);
  EXPECT_EQ(other.aspect.most, 2);
  EXPECT_EQ(only("center-crop:7").width, 7u);
  EXPECT_EQ(only("rotate:7.5").amount, 7.5);
  const Transform colours = only("colour-jitter:hue=0.1:brightness=0.4");
  EXPECT_EQ(colours.hue, 0.1);
  EXPECT_EQ(colours.brightness, 0.4);
  EXPECT_EQ(colours.contrast, 0);
  EXPECT_EQ(only("pca:0.1").amount, 0.1);
  EXPECT_EQ(only("cutout:16").height, 16u);
  const Transform moments = only("normalise:mean=-0.5/0.25/0:std=2");
  EXPECT_EQ(moments.mean, (std::vector<float>{-0.5, 0.25, 0}));
  EXPECT_EQ(moments.deviation, (std::vector<float>{2}));
}

// Evaluation has what it is told, or what does not depend on chance.
TEST(Transforms, AreForTrainingAndEvaluation) {
  auto texts = [](const TransformList &list) {
    std::string all;
    for (const Transform &each : list.all)
      all += each.text + " ";
    return all;
  };
  const Augmentation given = *parseAugmentation("crop:4, flip ,test:resize:9,center-crop:8");
  EXPECT_EQ(texts(given.train), "crop:4 flip ");
  EXPECT_EQ(texts(given.test), "resize:9 center-crop:8 ");
  EXPECT_EQ(given.text, "crop:4,flip,test:resize:9,center-crop:8");
  EXPECT_EQ(given.test.split, Split::Test);
  const Augmentation derived =
      *parseAugmentation("resize:9,crop:4,rotate:3,normalise:mean=0:std=1");
  EXPECT_EQ(texts(derived.test), "resize:9 normalise:mean=0:std=1 ");
  EXPECT_FALSE(derived.hasTest);
  EXPECT_EQ(texts(parseAugmentation("flip,normalise:mean=0:std=1,test:")->test), "");
  EXPECT_EQ(texts(parseAugmentation("test:flip")->test), "flip ");
  EXPECT_TRUE(parseAugmentation("")->train.all.empty());
}

TEST(Transforms, StandInFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.path("list.txt");
  std::ofstream(path) << "# what AlexNet has\nresize:256 # shorter side\n\n crop:4, flip\r\n"
                         "test:\nresize:256\ncenter-crop:224,\n";
  const Result<Augmentation> found = parseAugmentation("@" + path);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->text, "resize:256,crop:4,flip,test:resize:256,center-crop:224");
  std::ofstream(path) << "flip\nflap\n";
  EXPECT_EQ(refusal("@" + path), path + ": there is no transform 'flap'; did you mean 'flip'?");
  EXPECT_EQ(refusal("@" + folder.path("none")),
            folder.path("none") + ": cannot open: No such file or directory");
}

TEST(Transforms, SayWhatWasExpected) {
  const std::string size = "expected resize:S by the shorter side, or resize:HxW, found '",
                    mixup = "expected mixup:ALPHA above 0, as mixup:0.2, found '",
                    cutmix = "expected cutmix:ALPHA above 0, as cutmix:1, found '",
                    crop = "expected crop:N, N pixels of zeros around, found '";
  const std::pair<std::string, std::string> cases[] = {
      {"flop", "there is no transform 'flop'; did you mean 'flip'?"},
      {"normalize:mean=0:std=1", "there is no transform 'normalize'; did you mean 'normalise'?"},
      {"turn",
       "there is no transform 'turn'; there are: resize, random-resized-crop, center-crop, crop, "
       "flip, rotate, colour-jitter, pca, cutout, normalise, mixup, cutmix"},
      {"crop", crop + "crop'"},
      {"crop:", crop + "crop:'"},
      {"crop:0", crop + "crop:0'"},
      {"crop:-1", crop + "crop:-1'"},
      {"crop:4x", crop + "crop:4x'"},
      {"crop:4:3", crop + "crop:4:3'"},
      {"crop:99999999999", crop + "crop:99999999999'"},
      {"flip:1", "expected flip alone, found 'flip:1'"},
      {"flip:", "expected flip alone, found 'flip:'"},
      {"flip,", "expected transforms with commas between them, found nothing behind 'flip,'"},
      {",flip", "expected transforms with commas between them, found nothing behind ''"},
      {"flip,flip", "'flip' is there twice: 'flip' and 'flip'"},
      {"crop:1,flip,crop:2", "'crop' is there twice: 'crop:1' and 'crop:2'"},
      {"test:flip,test:flip", "'test:' is there twice"},
      {"resize:0x3", size + "resize:0x3'"},
      {"resize:3x", size + "resize:3x'"},
      {"resize:20000", size + "resize:20000'"},
      {"resize:8:", size + "resize:8:'"},
      {"resize:8:bicubc", "'resize' has no option 'bicubc'; did you mean 'bicubic'?"},
      {"resize:8:area=1-2", "'resize' has no option 'area'; there are: bilinear, bicubic"},
      {"resize:8:bicubic=1", "'resize' expects bicubic, found 'resize:8:bicubic=1'"},
      {"random-resized-crop:8:area=0.5",
       "'random-resized-crop' expects area=LEAST-MOST in parts of the whole, as area=0.08-1, found "
       "'random-resized-crop:8:area=0.5'"},
      {"random-resized-crop:8:area=0.5-2",
       "'random-resized-crop' expects area=LEAST-MOST in parts of the whole, as area=0.08-1, found "
       "'random-resized-crop:8:area=0.5-2'"},
      {"random-resized-crop:8:aspect=2-1",
       "'random-resized-crop' expects aspect=LEAST-MOST of width to height, as "
       "aspect=0.75-1.3333, found 'random-resized-crop:8:aspect=2-1'"},
      {"rotate:200", "expected rotate:DEGREES from 0 to 180, found 'rotate:200'"},
      {"rotate:nan", "expected rotate:DEGREES from 0 to 180, found 'rotate:nan'"},
      {"colour-jitter", "expected colour-jitter with some of :brightness=B, :contrast=C, "
                        ":saturation=S and :hue=H, found 'colour-jitter'"},
      {"colour-jitter:hue=0.7",
       "'colour-jitter' expects hue=H from 0 to 0.5, found 'colour-jitter:hue=0.7'"},
      {"pca:x", "expected pca:DEVIATION from 0 to 1, as pca:0.1, found 'pca:x'"},
      {"normalise:mean=0.5", "expected normalise:mean=M:std=S, numbers by channel as 0.5/0.4, "
                             "found 'normalise:mean=0.5'"},
      {"normalise:mean=0.5:mean=0.5",
       "expected normalise:mean=M:std=S, numbers by channel as 0.5/0.4, found "
       "'normalise:mean=0.5:mean=0.5'"},
      {"normalise:mean=0.5:std=0",
       "'normalise' expects std=S or a number for each channel, as std=0.229/0.224/0.225, found "
       "'normalise:mean=0.5:std=0'"},
      {"normalise:mean=0.5/:std=1",
       "'normalise' expects mean=M or a number for each channel, as mean=0.485/0.456/0.406, found "
       "'normalise:mean=0.5/:std=1'"},
      {"cutout:3.5", "expected cutout:S, a square of S x S pixels, found 'cutout:3.5'"},
      {"mixup", mixup + "mixup'"},
      {"mixup:", mixup + "mixup:'"},
      {"mixup:-1", mixup + "mixup:-1'"},
      {"mixup:0", mixup + "mixup:0'"},
      {"mixup:nan", mixup + "mixup:nan'"},
      {"mixup:inf", mixup + "mixup:inf'"},
      {"mixup:0.2x", mixup + "mixup:0.2x'"},
      {"mixup:1e9", mixup + "mixup:1e9'"},
      {"mixup:0.2:0.3", mixup + "mixup:0.2:0.3'"},
      {"mixup:alpha=1", mixup + "mixup:alpha=1'"},
      {"mixup:1,mixup:2", "'mixup' is there twice: 'mixup:1' and 'mixup:2'"},
      {"mix-up:1", "there is no transform 'mix-up'; did you mean 'mixup'?"},
      {"cutmix", cutmix + "cutmix'"},
      {"cutmix:0", cutmix + "cutmix:0'"},
      {"cutmix:-0.5", cutmix + "cutmix:-0.5'"},
      {"cutmix:one", cutmix + "cutmix:one'"},
      {"cutmix:1,flip,cutmix:1", "'cutmix' is there twice: 'cutmix:1' and 'cutmix:1'"},
      {"CutMix:1", "there is no transform 'CutMix'; did you mean 'cutmix'?"},
      {"test:mixup:1", "'mixup:1' mixes the batches of training, and stands in front of 'test:'"},
      {"flip,test:flip,cutmix:1",
       "'cutmix:1' mixes the batches of training, and stands in front of 'test:'"}};
  for (const auto &[text, message] : cases)
    EXPECT_EQ(refusal(text), message);
}

} // namespace

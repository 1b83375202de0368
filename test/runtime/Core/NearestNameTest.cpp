// Which slips are recognised; LexerTest tries the frontend's use of it.
#include "runtime/Core/NearestName.h"

#include <gtest/gtest.h>

using dlc::runtime::nearestName;

namespace {

TEST(NearestName, FindsWhatWasMeant) {
  EXPECT_EQ(nearestName("pading", {"padding", "stride"}), "padding");
  EXPECT_EQ(nearestName("trian", {"eval", "train", "infer"}), "train");
  EXPECT_EQ(nearestName("epoch", {"epochs", "steps"}), "epochs");
}

TEST(NearestName, IsSilentWhereItWouldGuess) {
  EXPECT_EQ(nearestName("xyz", {"padding", "stride"}), "");
  EXPECT_EQ(nearestName("x", {"y"}), "");
  EXPECT_EQ(nearestName("", {"padding"}), "");
  EXPECT_EQ(nearestName(std::string(65, 'a'), {std::string(65, 'a')}), "");
  EXPECT_EQ(nearestName("train", {std::string(1 << 20, 't')}), "");
}

} // namespace

// The compiler's reading of layouts against the runtime's, which shares no code with it.
#include "dialects/Program/Layout.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/Core/Layout.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace dlc;

namespace {
struct Layout : ::testing::Test {
  Layout() { context.loadDialect<program::ProgramDialect>(); }

  RankedTensorType type(ArrayRef<int64_t> shape, ArrayRef<int64_t> order,
                        ArrayRef<int64_t> blocks) {
    return RankedTensorType::get(shape, Float32Type::get(&context),
                                 program::LayoutAttr::get(&context, order, blocks));
  }

  MLIRContext context;
};

runtime::TensorType runtimeType(RankedTensorType type) {
  runtime::TensorType result;
  result.dtype = DLC_F32;
  result.shape.assign(type.getShape().begin(), type.getShape().end());
  auto layout = cast<program::LayoutAttr>(type.getEncoding());
  result.layout.permuted = 1;
  llvm::copy(layout.getOrder(), result.layout.order);
  result.layout.block_count = layout.getBlocks().size() / 2;
  for (unsigned i = 0; i < result.layout.block_count; ++i) {
    result.layout.block_axis[i] = layout.getBlocks()[2 * i];
    result.layout.block_size[i] = layout.getBlocks()[2 * i + 1];
  }
  return result;
}

/// Where the element of this row-major number stands.
int64_t placeOf(RankedTensorType type, const program::PhysicalLayout &layout, int64_t number) {
  SmallVector<int64_t> index(type.getRank());
  for (int64_t axis = type.getRank(); axis-- > 0; number /= type.getDimSize(axis))
    index[axis] = number % type.getDimSize(axis);
  int64_t place = 0;
  for (const auto &dimension : layout.dimensions)
    place += index[dimension.axis] / dimension.divisor % dimension.extent * dimension.stride;
  return place;
}

/// Packs the numbers of the elements, from 1 as padding is 0, and looks for each where we say.
void compare(RankedTensorType type) {
  const auto layout = program::PhysicalLayout::get(type);
  const runtime::TensorType other = runtimeType(type);
  ASSERT_EQ(program::storageBytes(type), int64_t(other.storageBytes()));
  std::vector<float> logical(type.getNumElements()), storage(layout.elements);
  for (size_t i = 0; i < logical.size(); ++i)
    logical[i] = i + 1;
  runtime::packLayout(other, reinterpret_cast<const std::byte *>(logical.data()),
                      reinterpret_cast<std::byte *>(storage.data()));
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    ASSERT_EQ(storage[placeOf(type, layout, i)], i + 1);
}
} // namespace

/// A blocked layout is padded to whole blocks.
TEST_F(Layout, Bytes) {
  EXPECT_EQ(program::storageBytes(type({2, 20, 3, 5}, {0, 1, 2, 3}, {1, 16})), 2 * 32 * 15 * 4);
  EXPECT_EQ(program::elementBytes(IntegerType::get(&context, 1)), 1);
  EXPECT_EQ(program::storageBytes(RankedTensorType::get({0, 5}, Float32Type::get(&context))), 0);
}

TEST_F(Layout, RowMajor) {
  EXPECT_TRUE(program::PhysicalLayout::get(type({4, 3}, {0, 1}, {})).rowMajor);
  EXPECT_FALSE(program::PhysicalLayout::get(type({4, 3}, {1, 0}, {})).rowMajor);
  EXPECT_FALSE(program::PhysicalLayout::get(type({4, 16}, {0, 1}, {1, 16})).rowMajor);
}

/// Channels in blocks behind all pixels stand where they do without blocks that divide them.
TEST_F(Layout, BlockedLast) {
  const RankedTensorType last = type({2, 32, 3, 5}, {0, 2, 3, 1}, {1, 16}),
                         plain = type({2, 32, 3, 5}, {0, 2, 3, 1}, {});
  EXPECT_TRUE(program::LayoutAttr::isBlockedLast(last));
  EXPECT_FALSE(program::LayoutAttr::isBlockedLast(plain));
  EXPECT_FALSE(program::LayoutAttr::isBlockedLast(type({2, 32, 3, 5}, {0, 1, 2, 3}, {1, 16})));
  for (int64_t i = 0; i < last.getNumElements(); ++i)
    ASSERT_EQ(placeOf(last, program::PhysicalLayout::get(last), i),
              placeOf(plain, program::PhysicalLayout::get(plain), i));
  compare(last);
}

/// Two blocks of one axis: the first is the inner one.
TEST_F(Layout, TwoBlocksOfOneAxis) { compare(type({3, 24}, {1, 0}, {1, 4, 1, 2})); }

TEST_F(Layout, Random) {
  std::mt19937 random(1);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 200; ++round) {
    int64_t rank = draw(1, 5);
    SmallVector<int64_t> shape, order = llvm::to_vector(llvm::seq<int64_t>(rank)), blocks;
    for (int64_t i = 0; i < rank; ++i)
      shape.push_back(draw(1, 9));
    std::shuffle(order.begin(), order.end(), random);
    for (int64_t i = draw(0, DLC_MAX_BLOCKS); i > 0; --i)
      blocks.append({draw(0, rank - 1), draw(2, 5)});
    compare(type(shape, order, blocks));
  }
}

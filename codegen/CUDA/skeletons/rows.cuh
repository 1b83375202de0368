// rows: sparse gradients, sums of the rows of one number, and the update of a table's rows.
//
//   P::THREADS             of a block
//   P::COUNT, WIDTH        rows, and the elements of each
//   P::EXTENT              numbers from 0 to EXTENT - 1 count
//   p.number(j)            the number of row j
//
// sumRows, behind linkRows:
//   P::Element             float or double: of the rows
//   p.value(j, i)          element i of row j, computed
//   p.storeSum(j, i, v)    of the sums
//   p.storeNumber(j, n)    the number of a sum, or -1
//   p.partial              workspace [COUNT] of int
//
// updateRows:
//   p.update(row, own, i)  updates element i of row `row` of the table by that of row `own`

// A warp a row: where its number comes next, or COUNT; the complement of that where it has come
// before.
template <class P> __device__ void linkRows(const P &p) {
  int j = blockIdx.x * (P::THREADS / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (j >= P::COUNT)
    return;
  auto own = p.number(j);
  int next = P::COUNT, first = P::COUNT;
  for (int k = lane; k < P::COUNT; k += 32)
    if (p.number(k) == own) {
      first = minimum(first, k);
      next = k > j ? minimum(next, k) : next;
    }
  next = combineWarp<Min>(next);
  first = combineWarp<Min>(first);
  if (lane == 0)
    p.partial[j] = first < j ? ~next : next;
}

// A block a row: the first of a number adds up all of its rows, in order; others are 0.
template <class P> __device__ void sumRows(const P &p) {
  int j = blockIdx.x;
  auto own = p.number(j);
  bool isFirst = own >= 0 && own < P::EXTENT && p.partial[j] >= 0;
  for (int i = threadIdx.x; i < P::WIDTH; i += P::THREADS) {
    typename P::Element sum = 0;
    for (int k = isFirst ? j : P::COUNT; k < P::COUNT;) {
      sum += p.value(k, i);
      int link = p.partial[k];
      k = link < 0 ? ~link : link;
    }
    p.storeSum(j, i, sum);
  }
  if (threadIdx.x == 0)
    p.storeNumber(j, isFirst ? own : -1);
}

// A block a row of the gradient. A number stands once, so no two blocks write to one place.
template <class P> __device__ void updateRows(const P &p) {
  int j = blockIdx.x;
  auto row = p.number(j);
  if (row < 0 || row >= P::EXTENT)
    return;
  for (int i = threadIdx.x; i < P::WIDTH; i += P::THREADS)
    p.update(int(row), j, i);
}

// The kernels, written once for vectors of FEDWARD_LANES floats and compiled for each instruction set.
//
// A matrix product is cut into tiles that stay in registers: FEDWARD_ROWS rows times a panel of two vectors.
// Weights lie panel by panel, [columns / panel][taps][panel], so a tile reads them from front to end. The
// last panel may be one vector wide. docs/native.md has the picture.
//
// No header with inline functions may be included while this is compiled: see kernels_avx2.cpp.

namespace fedward {
// A name of its own, so that each function tells which instructions it may hold: the tests look.
namespace FEDWARD_SET {
namespace {

constexpr int kLanes = FEDWARD_LANES;
constexpr int kRows = FEDWARD_ROWS;
constexpr int kPanel = 2 * kLanes;
// Weights beyond this many floats do not stay in the second cache while rows go by.
constexpr std::ptrdiff_t kCached = 48 * 1024;
// So many pixels of a panel's gradient stay in the first cache while the taps go by.
constexpr int kBlock = 128;

// Floats may lie anywhere: a vector need not begin at a multiple of its size.
typedef float Vector __attribute__((vector_size(4 * FEDWARD_LANES), aligned(4), may_alias));
typedef float Half __attribute__((vector_size(2 * FEDWARD_LANES), aligned(4), may_alias));
typedef double Doubles __attribute__((vector_size(4 * FEDWARD_LANES)));
typedef double Unaligned __attribute__((vector_size(4 * FEDWARD_LANES), aligned(8), may_alias));
typedef std::int32_t Whole __attribute__((vector_size(4 * FEDWARD_LANES), aligned(4), may_alias));

inline Vector load(const float* from) { return *reinterpret_cast<const Vector*>(from); }
inline void store(float* to, Vector value) { *reinterpret_cast<Vector*>(to) = value; }
// Minus, not plus: x + 0 turns -0 into 0, and the compiler would have to do that.
inline Vector all(float value) { return value - Vector{}; }
// Not a number stays what it is: a training that diverges has to be seen.
inline Vector positive(Vector value) { return value < 0.0f ? Vector{} : value; }

// Calls `work` with the number of rows as a constant, so that the tile is kept in registers.
template <int n>
struct Rows {
  static constexpr int count = n;
};
template <int most, class Work>
inline __attribute__((always_inline)) void with_rows(int rows, Work&& work) {
  if (rows >= most) {
    work(Rows<most>{});
  } else if constexpr (most > 1) {
    with_rows<most - 1>(rows, work);
  }
}

template <int rows, int vectors>
struct Tile {
  Vector sum[rows][vectors];

  inline __attribute__((always_inline)) void fill(const float* row) {
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < vectors; ++v) sum[r][v] = load(row + v * kLanes);
  }
  inline __attribute__((always_inline)) void clear() {
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < vectors; ++v) sum[r][v] = Vector{};
  }
  // sum[r] += factor(r) * row, the step that everything else is made of.
  template <class Factor>
  inline __attribute__((always_inline)) void add(const float* row, Factor&& factor) {
    Vector b[vectors];
    for (int v = 0; v < vectors; ++v) b[v] = load(row + v * kLanes);
    for (int r = 0; r < rows; ++r) {
      const Vector a = all(factor(r));
      for (int v = 0; v < vectors; ++v) sum[r][v] += a * b[v];
    }
  }
};

// Calls `work` for each panel: its first column, and its width in vectors as a constant.
template <class Work>
inline __attribute__((always_inline)) void for_each_panel(int columns, Work&& work) {
  int column = 0;
  for (; column + kPanel <= columns; column += kPanel) work(column, Rows<2>{});
  if (column < columns) work(column, Rows<1>{});
}

// out[pixels] for one panel of columns.
template <int rows, int vectors>
void forward_tile(const Convolution& conv, const float* in, const std::int32_t* input_at,
                  const float* panel, const float* bias, float* out, const std::int32_t* output_at) {
  const float* from[rows];
  for (int r = 0; r < rows; ++r) from[r] = in + input_at[r];
  Tile<rows, vectors> tile;
  tile.fill(bias);
  for (int s = 0; s < conv.segments; ++s) {
    for (int k = 0; k < conv.segment; ++k, panel += vectors * kLanes)
      tile.add(panel, [&](int r) { return from[r][k]; });
    for (int r = 0; r < rows; ++r) from[r] += conv.segment_step;
  }
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) {
      const Vector value = tile.sum[r][v];
      store(out + output_at[r] + v * kLanes, conv.rectified ? positive(value) : value);
    }
}

void forward_panel(const Convolution& conv, int first, int rows, const float* in, const float* weights,
                   int column, int vectors, float* out) {
  const float* panel = weights + std::ptrdiff_t(column) * conv.taps;
  const float* bias = weights + conv.weights() + column;
  with_rows<kRows>(rows, [&](auto count) {
    constexpr int r = decltype(count)::count;
    auto tile = vectors == 2 ? forward_tile<r, 2> : forward_tile<r, 1>;
    tile(conv, in, conv.input_at + first, panel, bias, out + column, conv.output_at + first);
  });
}

void forward(const Convolution& conv, int examples, const float* in, const float* weights, float* out) {
  const int pixels = examples * conv.pixels;
  const auto columns_of = [&](int first) {
    for_each_panel(conv.columns, [&](int column, auto vectors) {
      forward_panel(conv, first, pixels - first, in, weights, column, decltype(vectors)::count, out);
    });
  };
  if (conv.weights() <= kCached) {
    for (int first = 0; first < pixels; first += kRows) columns_of(first);
    return;
  }
  // Large weights: each panel is read once, for all pixels.
  for_each_panel(conv.columns, [&](int column, auto vectors) {
    for (int first = 0; first < pixels; first += kRows)
      forward_panel(conv, first, pixels - first, in, weights, column, decltype(vectors)::count, out);
  });
}

// The gradients of `rows` taps in one panel, summed over the pixels from `first` to `last`.
template <int rows, int vectors>
void weight_tile(const Convolution& conv, int first, int last, const float* in, const std::int32_t* tap_at,
                 const float* out_gradient, float* gradient) {
  const float* from[rows];
  for (int r = 0; r < rows; ++r) from[r] = in + tap_at[r];
  Tile<rows, vectors> tile;
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) tile.sum[r][v] = load(gradient + (r * vectors + v) * kLanes);
  const std::int32_t* input_at = conv.input_at;
  const std::int32_t* output_at = conv.output_at;
  for (int m = first; m < last; ++m) {
    const std::ptrdiff_t pixel = input_at[m];
    tile.add(out_gradient + output_at[m], [&](int r) { return from[r][pixel]; });
  }
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) store(gradient + (r * vectors + v) * kLanes, tile.sum[r][v]);
}

void bias_gradient(const Convolution& conv, int pixels, const float* out_gradient, float* gradient) {
  for (int column = 0; column < conv.columns; column += kLanes) {
    Vector sum = load(gradient + column);
    for (int m = 0; m < pixels; ++m) sum += load(out_gradient + conv.output_at[m] + column);
    store(gradient + column, sum);
  }
}

void weight_gradient(const Convolution& conv, int examples, const float* in, const float* out_gradient,
                     float* gradient) {
  const int pixels = examples * conv.pixels;
  for (int first = 0; first < pixels; first += kBlock)
    for_each_panel(conv.columns, [&](int column, auto vectors) {
      constexpr int width = decltype(vectors)::count;
      const int last = first + kBlock < pixels ? first + kBlock : pixels;
      float* panel = gradient + std::ptrdiff_t(column) * conv.taps;
      for (int tap = 0; tap < conv.taps; tap += kRows)
        with_rows<kRows>(conv.taps - tap, [&](auto count) {
          weight_tile<decltype(count)::count, width>(conv, first, last, in, conv.tap_at + tap,
                                                     out_gradient + column,
                                                     panel + std::ptrdiff_t(tap) * width * kLanes);
        });
    });
  if (conv.biased) bias_gradient(conv, pixels, out_gradient, gradient + conv.weights());
}

// What `rows` pixels send back to one panel of their taps.
template <int rows, int vectors>
void input_tile(const Convolution& conv, const float* out_gradient, const std::int32_t* output_at,
                const float* panel, float* in_gradient, const std::int32_t* input_at) {
  const float* from[rows];
  for (int r = 0; r < rows; ++r) from[r] = out_gradient + output_at[r];
  Tile<rows, vectors> tile;
  tile.clear();
  for (int o = 0; o < conv.used_columns; ++o, panel += vectors * kLanes)
    tile.add(panel, [&](int r) { return from[r][o]; });
  // Windows overlap: one row after the other.
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) {
      float* to = in_gradient + input_at[r] + v * kLanes;
      store(to, load(to) + tile.sum[r][v]);
    }
}

template <int vectors>
inline __attribute__((always_inline)) void send_back(const Convolution& conv, int first, int pixels, int segment,
                                                     int tap, const float* out_gradient, const float* transposed,
                                                     float* in_gradient) {
  const float* panel = transposed + (std::ptrdiff_t(segment) * conv.segment + tap) * conv.columns;
  float* to = in_gradient + segment * conv.segment_step + tap;
  with_rows<kRows>(pixels - first, [&](auto count) {
    input_tile<decltype(count)::count, vectors>(conv, out_gradient, conv.output_at + first, panel, to,
                                                conv.input_at + first);
  });
}

void input_gradient(const Convolution& conv, int examples, const float* out_gradient, const float* transposed,
                    float* in_gradient) {
  const int pixels = examples * conv.pixels;
  if (conv.weights() <= 2 * kCached) {
    for (int first = 0; first < pixels; first += kRows)
      for (int s = 0; s < conv.segments; ++s)
        for_each_panel(conv.segment, [&](int tap, auto vectors) {
          send_back<decltype(vectors)::count>(conv, first, pixels, s, tap, out_gradient, transposed, in_gradient);
        });
    return;
  }
  // Large weights: as in forward().
  for (int s = 0; s < conv.segments; ++s)
    for_each_panel(conv.segment, [&](int tap, auto vectors) {
      for (int first = 0; first < pixels; first += kRows)
        send_back<decltype(vectors)::count>(conv, first, pixels, s, tap, out_gradient, transposed, in_gradient);
    });
}

// Panels of taps instead of panels of columns: [segments][segment / panel][columns][panel].
void transpose(const Convolution& conv, const float* weights, float* transposed) {
  for (int s = 0; s < conv.segments; ++s)
    for_each_panel(conv.segment, [&](int first, auto taps) {
      constexpr int wide = decltype(taps)::count * kLanes;
      const int tap = s * conv.segment + first;
      float* to = transposed + std::ptrdiff_t(tap) * conv.columns;
      for_each_panel(conv.columns, [&](int column, auto vectors) {
        constexpr int high = decltype(vectors)::count * kLanes;
        const float* from = weights + std::ptrdiff_t(column) * conv.taps + std::ptrdiff_t(tap) * high;
        for (int k = 0; k < wide; ++k)
          for (int o = 0; o < high; ++o) to[(column + o) * wide + k] = from[k * high + o];
      });
    });
}

// Calls `work` for each vector of the output: its place, the inputs of its pixel, and how much they share.
template <class Work>
inline __attribute__((always_inline)) void for_each_output(const Pool& pool, int examples, Work&& work) {
  for (int example = 0; example < examples; ++example)
    for (int p = 0; p < pool.pixels; ++p) {
      const std::ptrdiff_t from = example * pool.from_size, to = example * pool.to_size + pool.output_at[p];
      const std::int32_t* inputs = pool.input_at + pool.first[p];
      const int count = pool.first[p + 1] - pool.first[p];
      for (int channel = 0; channel < pool.stride; channel += kLanes)
        work(from + channel, inputs, count, to + channel, pool.share[p]);
    }
}

void largest(const float* in, const std::int32_t* inputs, int count, float* out, std::int32_t* winners) {
  Vector best = load(in + inputs[0]);
  Whole winner{};
  for (int i = 0; i < count; ++i) {
    const Vector value = load(in + inputs[i]);
    const Whole better = (value > best) | (value != value);
    best = better ? value : best;
    winner = better ? Whole{} + i : winner;
  }
  store(out, best);
  *reinterpret_cast<Whole*>(winners) = winner;
}

void pool(const Pool& pool, int examples, const float* in, float* out, std::int32_t* winners) {
  if (pool.takes_largest) {
    for_each_output(pool, examples, [&](std::ptrdiff_t from, const std::int32_t* inputs, int count,
                                        std::ptrdiff_t to, float) {
      largest(in + from, inputs, count, out + to, winners + to);
    });
    return;
  }
  for_each_output(pool, examples, [&](std::ptrdiff_t from, const std::int32_t* inputs, int count,
                                      std::ptrdiff_t to, float share) {
    Vector sum{};
    for (int i = 0; i < count; ++i) sum += load(in + from + inputs[i]);
    store(out + to, sum * all(share));
  });
}

void pool_gradient(const Pool& pool, int examples, const float* out_gradient, const std::int32_t* winners,
                   float* in_gradient) {
  for_each_output(pool, examples, [&](std::ptrdiff_t from, const std::int32_t* inputs, int count,
                                      std::ptrdiff_t to, float share) {
    const Vector gradient = load(out_gradient + to);
    const Vector part = gradient * all(share);
    Whole winner{};
    if (pool.takes_largest) winner = *reinterpret_cast<const Whole*>(winners + to);
    for (int i = 0; i < count; ++i) {
      float* pixel = in_gradient + from + inputs[i];
      store(pixel, load(pixel) + (pool.takes_largest ? (winner == i ? gradient : Vector{}) : part));
    }
  });
}

inline Doubles widened(const float* from) {
  return __builtin_convertvector(*reinterpret_cast<const Half*>(from), Doubles);
}

void rectify(float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLanes) store(values + i, positive(load(values + i)));
}

void mask(float* gradient, const float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLanes) {
    const Vector value = load(values + i);
    store(gradient + i, value <= 0.0f ? Vector{} : load(gradient + i));
  }
}

void step(float* weights, float* velocity, const float* gradient, std::size_t count, float rate,
          float momentum, float decay) {
  if (velocity == nullptr) {
    for (std::size_t i = 0; i < count; i += kLanes) {
      const Vector weight = load(weights + i);
      store(weights + i, weight - all(rate) * (load(gradient + i) + all(decay) * weight));
    }
    return;
  }
  for (std::size_t i = 0; i < count; i += kLanes) {
    const Vector weight = load(weights + i);
    const Vector speed =
        all(momentum) * load(velocity + i) + (load(gradient + i) + all(decay) * weight);
    store(velocity + i, speed);
    store(weights + i, weight - all(rate) * speed);
  }
}

// In double precision throughout: what is clipped by it must not be longer than its bound. Half a vector of
// floats is a whole vector of doubles; two sums, so that one need not wait for the other.
double squares(const float* values, std::size_t count) {
  Doubles first{}, second{};
  for (std::size_t i = 0; i < count; i += kLanes) {
    const Doubles a = widened(values + i), b = widened(values + i + kLanes / 2);
    first += a * a;
    second += b * b;
  }
  double sum = 0;
  for (int j = 0; j < kLanes / 2; ++j) sum += first[j] + second[j];
  return sum;
}

// In double precision: in single, one of many examples could move their sum by more than its bound.
void add_scaled(double* total, const float* values, double scale, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLanes / 2) {
    Unaligned* sum = reinterpret_cast<Unaligned*>(total + i);
    *sum += scale * widened(values + i);
  }
}

// |a g^T|^2 = |a|^2 |g|^2, and |g|^2 more for the bias.
double outer_squares(const Convolution& conv, const float* in, const float* out_gradient) {
  const float* from = in + conv.input_at[0];
  double inputs = conv.biased ? 1 : 0;
  for (int s = 0; s < conv.segments; ++s, from += conv.segment_step)
    for (int k = 0; k < conv.segment; ++k) inputs += double(from[k]) * double(from[k]);
  return inputs * squares(out_gradient + conv.output_at[0], conv.columns);
}

// Several examples together: the sum, which is the largest of what is touched, is read and written once. Some taps
// together: each addition waits for the one before it, so there must be others to do.
void add_outer(const Convolution& conv, int examples, const float* inputs, const double* gradients, double* total) {
  constexpr int kTaps = kLanes < 16 ? 2 : 3, half = kLanes / 2;
  for_each_panel(conv.columns, [&](int column, auto vectors) {
    constexpr int halves = 2 * decltype(vectors)::count;
    const auto add = [&](double* rows, auto count, auto&& input_of) {
      constexpr int taps = decltype(count)::count;
      Doubles sum[taps][halves];
      for (int r = 0; r < taps; ++r)
        for (int h = 0; h < halves; ++h) sum[r][h] = *reinterpret_cast<Unaligned*>(rows + (r * halves + h) * half);
      for (int e = 0; e < examples; ++e) {
        const double* gradient = gradients + std::ptrdiff_t(e) * conv.columns + column;
        for (int r = 0; r < taps; ++r) {
          const double input = input_of(e, r);
          for (int h = 0; h < halves; ++h) sum[r][h] += input * *reinterpret_cast<const Unaligned*>(gradient + h * half);
        }
      }
      for (int r = 0; r < taps; ++r)
        for (int h = 0; h < halves; ++h) *reinterpret_cast<Unaligned*>(rows + (r * halves + h) * half) = sum[r][h];
    };
    double* panel = total + std::ptrdiff_t(column) * conv.taps;
    for (int tap = 0; tap < conv.taps; tap += kTaps)
      with_rows<kTaps>(conv.taps - tap, [&](auto count) {
        add(panel + std::ptrdiff_t(tap) * halves * half, count,
            [&](int e, int r) { return double(inputs[std::ptrdiff_t(e) * conv.taps + tap + r]); });
      });
    if (conv.biased) add(total + conv.weights() + column, Rows<1>{}, [](int, int) { return 1.0; });
  });
}

#include "normalisation.inl"
#include "recurrent.inl"

}  // namespace

const Kernels kKernels = {FEDWARD_NAME,  kLanes,        forward,   weight_gradient,    input_gradient,
                          transpose,     pool,          pool_gradient,
                          normalise,     normalise_gradient,       add,
                          rectify,       mask,          step,      squares,            add_scaled,
                          outer_squares, add_outer,
                          lstm_forward,  lstm_backward, softmax_gradient,              product};

}  // namespace FEDWARD_SET
}  // namespace fedward

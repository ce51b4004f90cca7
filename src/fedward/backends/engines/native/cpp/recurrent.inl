// The arithmetic of LSTM layers and of softmax over many classes: a part of kernels.inl, for vectors of any width.

typedef std::uint32_t Bits __attribute__((vector_size(4 * FEDWARD_LANES), aligned(4), may_alias));

// Horner's rule, from the highest power down.
template <int terms>
inline __attribute__((always_inline)) Vector polynomial(Vector x, const float (&coefficients)[terms]) {
  Vector value = all(coefficients[0]);
  for (int i = 1; i < terms; ++i) value = value * x + all(coefficients[i]);
  return value;
}

// exp, to a few parts in 2^24: 2^n times a polynomial on [-ln 2 / 2, ln 2 / 2]. It ends where normal numbers end; what
// is no number stays so.
inline __attribute__((always_inline)) Vector exponential(Vector x) {
  x = x < -87.3f ? all(-87.3f) : x;
  x = x > 88.3f ? all(88.3f) : x;
  // Among numbers of this size the next one is 1 away: adding it rounds, and leaves n in the lowest bits.
  const Vector magic = all(12582912.0f);
  const Vector shifted = x * all(1.44269504f) + magic;
  const Vector whole = shifted - magic;
  // ln 2 in two parts, the first so short that its multiples are exact.
  const Vector rest = (x - whole * all(0.693145752f)) - whole * all(1.42860682e-6f);
  const Vector power = polynomial(
      rest, {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 1.0f / 2, 1.0f, 1.0f});
  const Bits exponent = ((Bits)shifted - (Bits)magic + 127u) << 23;
  return power * (Vector)exponent;
}

inline __attribute__((always_inline)) Vector sigmoid(Vector x) { return all(1.0f) / (all(1.0f) + exponential(-x)); }

inline __attribute__((always_inline)) Vector hyperbolic_tangent(Vector x) {
  const Vector square = x * x;
  // Near zero 1 - 2 / (e + 1) would cancel. Fitted to (tanh x / x - 1) / x^2 on [0, 0.6], within 1.1e-8.
  const Vector curve = polynomial(
      square, {-0.0062763876f, 0.021116214f, -0.053875138f, 0.13332924f, -0.33333330f});
  const Vector small = x + x * square * curve;
  const Vector large = all(1.0f) - all(2.0f) / (exponential(x + x) + all(1.0f));
  return square < 0.36f ? small : large;
}

// c = f c + i g, h = o tanh c.
void lstm_forward(const LstmStep& step) {
  for (int row = 0; row < step.rows; ++row) {
    float* gates = step.gates + row * step.gate_row;
    const std::ptrdiff_t at = row * step.unit_row;
    for (int unit = 0; unit < step.units; unit += kLanes) {
      Vector sum[4];
      for (int g = 0; g < 4; ++g) {
        const int column = g * step.units + unit;
        sum[g] = load(gates + column) + load(step.bias + column);
      }
      const Vector in = sigmoid(sum[0]), forget = sigmoid(sum[1]);
      const Vector content = hyperbolic_tangent(sum[2]), out = sigmoid(sum[3]);
      Vector cell = in * content;
      if (step.cells_before) cell += forget * load(step.cells_before + at + unit);
      const Vector squashed = hyperbolic_tangent(cell);
      store(gates + unit, in);
      store(gates + step.units + unit, forget);
      store(gates + 2 * step.units + unit, content);
      store(gates + 3 * step.units + unit, out);
      store(step.cells + at + unit, cell);
      store(step.squashed + at + unit, squashed);
      store(step.states + at + unit, out * squashed);
    }
  }
}

void lstm_backward(const LstmStep& step) {
  const Vector one = all(1.0f);
  for (int row = 0; row < step.rows; ++row) {
    float* gates = step.gates + row * step.gate_row;
    const std::ptrdiff_t at = row * step.unit_row;
    for (int unit = 0; unit < step.units; unit += kLanes) {
      const Vector in = load(gates + unit), forget = load(gates + step.units + unit);
      const Vector content = load(gates + 2 * step.units + unit), out = load(gates + 3 * step.units + unit);
      const Vector squashed = load(step.squashed + at + unit), arriving = load(step.arriving + at + unit);
      const Vector cell = load(step.carried + at + unit) + arriving * out * (one - squashed * squashed);
      Vector before{};
      if (step.cells_before) before = load(step.cells_before + at + unit);
      store(gates + unit, cell * content * in * (one - in));
      store(gates + step.units + unit, cell * before * forget * (one - forget));
      store(gates + 2 * step.units + unit, cell * in * (one - content * content));
      store(gates + 3 * step.units + unit, arriving * squashed * out * (one - out));
      store(step.carried + at + unit, cell * forget);
    }
  }
}

// Turns a row of scores into the gradient of scale * cross-entropy. `columns` are whole vectors.
void softmax_gradient(float* scores, int classes, int columns, std::int64_t label, float scale) {
  for (int c = classes; c < columns; ++c) scores[c] = -1e30f;
  Vector best = load(scores);
  for (int c = kLanes; c < columns; c += kLanes) {
    const Vector value = load(scores + c);
    best = value > best ? value : best;
  }
  float largest = best[0];
  for (int lane = 1; lane < kLanes; ++lane) largest = best[lane] > largest ? best[lane] : largest;
  Vector sums{};
  for (int c = 0; c < columns; c += kLanes) {
    const Vector power = exponential(load(scores + c) - all(largest));
    store(scores + c, power);
    sums += power;
  }
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  for (int c = 0; c < columns; c += kLanes) store(scores + c, load(scores + c) / all(sum) * all(scale));
  for (int c = classes; c < columns; ++c) scores[c] = 0.0f;
  scores[label] -= scale;
}

// In double precision, like the norms that are made of it.
double product(const float* a, const float* b, std::size_t count) {
  Doubles first{}, second{};
  for (std::size_t i = 0; i < count; i += kLanes) {
    first += widened(a + i) * widened(b + i);
    second += widened(a + i + kLanes / 2) * widened(b + i + kLanes / 2);
  }
  double sum = 0;
  for (int j = 0; j < kLanes / 2; ++j) sum += first[j] + second[j];
  return sum;
}

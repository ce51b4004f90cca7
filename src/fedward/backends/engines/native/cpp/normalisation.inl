// Group normalisation and sums of activations: the middle of kernels.inl, which includes this.

inline Vector narrowed(const double* from) {
  Vector found;
  for (int j = 0; j < kLanes; ++j) found[j] = static_cast<float>(from[j]);
  return found;
}

// Calls `work` with where each row of an example begins in two grids; a row is `width` pixels of `stride` floats.
template <class Work>
inline __attribute__((always_inline)) void for_each_row(const Grid& one, const Grid& other, Work&& work) {
  for (int h = 0; h < one.height; ++h) work(one.at(h, 0), other.at(h, 0));
}

// The sum of a vector over pixels: of a row in single precision, of the rows in double precision.
struct Sum {
  Doubles low{}, high{};

  inline __attribute__((always_inline)) void add(Vector value) {
    float parts[kLanes];
    store(parts, value);
    low += widened(parts);
    high += widened(parts + kLanes / 2);
  }
  inline __attribute__((always_inline)) void write(double* to) const {
    *reinterpret_cast<Unaligned*>(to) = low;
    *reinterpret_cast<Unaligned*>(to + kLanes / 2) = high;
  }
};

// Calls `work(first channel, value)` for each group, with what `part` of its channels comes to, for each of its values.
template <class Part, class Work>
inline __attribute__((always_inline)) void for_each_group(const Normalisation& norm, const Grid& grid, Part&& part,
                                                          Work&& work) {
  const int size = grid.channels / norm.groups;
  const double values = double(size) * grid.height * grid.width;
  for (int first = 0; first < grid.channels; first += size) {
    double total = 0;
    for (int channel = first; channel < first + size; ++channel) total += part(channel);
    for (int channel = first; channel < first + size; ++channel) work(channel, total / values);
  }
}

// Twice over the pixels: a variance from sums of squares is lost where the mean is large. Channels that the model
// does not have keep mean and factor 0.
void measure(const Normalisation& norm, const Grid& from, const float* in, float* means, float* factors, double* sums) {
  for (int channel = 0; channel < from.stride; channel += kLanes) {
    Sum sum;
    for_each_row(from, from, [&](std::ptrdiff_t row, std::ptrdiff_t) {
      const float* x = in + row + channel;
      Vector values{};
      for (int w = 0; w < from.width; ++w, x += from.stride) values += load(x);
      sum.add(values);
    });
    sum.write(sums + channel);
  }
  const auto part = [&](int channel) { return sums[channel]; };
  for_each_group(norm, from, part, [&](int channel, double mean) { means[channel] = static_cast<float>(mean); });
  for (int channel = 0; channel < from.stride; channel += kLanes) {
    const Vector mean = load(means + channel);
    Sum sum;
    for_each_row(from, from, [&](std::ptrdiff_t row, std::ptrdiff_t) {
      const float* x = in + row + channel;
      Vector squares{};
      for (int w = 0; w < from.width; ++w, x += from.stride) {
        const Vector apart = load(x) - mean;
        squares += apart * apart;
      }
      sum.add(squares);
    });
    sum.write(sums + channel);
  }
  for_each_group(norm, from, part, [&](int channel, double variance) {
    factors[channel] = 1.0f / __builtin_sqrtf(static_cast<float>(variance) + norm.epsilon);
  });
}

void normalise(const Normalisation& norm, const Grid& from, const Grid& to, int examples, const float* in,
               const float* parameters, float* out, float* statistics, double* sums) {
  for (int example = 0; example < examples; ++example, in += from.size(), out += to.size()) {
    float *means = statistics + std::ptrdiff_t(example) * 2 * from.stride, *factors = means + from.stride;
    measure(norm, from, in, means, factors, sums);
    for (int channel = 0; channel < from.stride; channel += kLanes) {
      const Vector mean = load(means + channel), factor = load(factors + channel);
      const Vector weight = norm.affine ? load(parameters + channel) * factor : factor;
      const Vector bias = norm.affine ? load(parameters + from.stride + channel) : Vector{};
      for_each_row(from, to, [&](std::ptrdiff_t row, std::ptrdiff_t out_row) {
        const float* x = in + row + channel;
        float* y = out + out_row + channel;
        for (int w = 0; w < from.width; ++w, x += from.stride, y += from.stride) {
          const Vector value = (load(x) - mean) * weight + bias;
          store(y, to.rectified ? positive(value) : value);
        }
      });
    }
  }
}

// With x the normalised input, w the weight, g what comes back and means over the group:
// factor * (w g - mean(w g) - x mean(w g x)).
void send_back_normalised(const Normalisation& norm, const Grid& from, const Grid& to, const float* in,
                          const float* parameters, const float* means, const float* factors,
                          const float* out_gradient, float* in_gradient, double* sums) {
  const auto weight = [&](int channel) { return norm.affine ? double(parameters[channel]) : 1.0; };
  double* projected = sums + from.stride;
  const auto average = [&](double* row) {
    for_each_group(norm, from, [&](int channel) { return weight(channel) * row[channel]; },
                   [&](int channel, double mean) { row[channel] = mean * factors[channel]; });
  };
  average(sums);
  average(projected);
  for (int channel = 0; channel < from.stride; channel += kLanes) {
    const Vector mean = load(means + channel), factor = load(factors + channel);
    const Vector share = norm.affine ? load(parameters + channel) * factor : factor;
    const Vector shift = narrowed(sums + channel), slope = narrowed(projected + channel) * factor;
    for_each_row(from, to, [&](std::ptrdiff_t row, std::ptrdiff_t out_row) {
      const float *x = in + row + channel, *g = out_gradient + out_row + channel;
      float* sent = in_gradient + row + channel;
      for (int w = 0; w < from.width; ++w, x += from.stride, g += from.stride, sent += from.stride)
        store(sent, load(sent) + (load(g) * share - shift - (load(x) - mean) * slope));
    });
  }
}

void normalise_gradient(const Normalisation& norm, const Grid& from, const Grid& to, int examples, const float* in,
                        const float* parameters, const float* statistics, const float* out_gradient,
                        float* parameter_gradient, float* in_gradient, double* sums) {
  double* projected = sums + from.stride;
  for (int example = 0; example < examples; ++example, in += from.size(), out_gradient += to.size()) {
    const float *means = statistics + std::ptrdiff_t(example) * 2 * from.stride, *factors = means + from.stride;
    for (int channel = 0; channel < from.stride; channel += kLanes) {
      const Vector mean = load(means + channel), factor = load(factors + channel);
      Sum sum, along;
      for_each_row(from, to, [&](std::ptrdiff_t row, std::ptrdiff_t out_row) {
        const float *x = in + row + channel, *g = out_gradient + out_row + channel;
        Vector gradients{}, products{};
        for (int w = 0; w < from.width; ++w, x += from.stride, g += from.stride) {
          gradients += load(g);
          products += load(g) * ((load(x) - mean) * factor);
        }
        sum.add(gradients);
        along.add(products);
      });
      sum.write(sums + channel);
      along.write(projected + channel);
      if (!parameter_gradient) continue;
      float *weight = parameter_gradient + channel, *bias = weight + from.stride;
      store(weight, load(weight) + narrowed(projected + channel));
      store(bias, load(bias) + narrowed(sums + channel));
    }
    if (!in_gradient) continue;
    send_back_normalised(norm, from, to, in, parameters, means, factors, out_gradient, in_gradient, sums);
    in_gradient += from.size();
  }
}

void add(const Grid& of_one, const Grid& of_other, const Grid& of_sum, int examples, const float* one,
         const float* other, float* sum, bool rectified) {
  const std::ptrdiff_t row = std::ptrdiff_t(of_sum.width) * of_sum.stride;
  for (int example = 0; example < examples; ++example) {
    for (int h = 0; h < of_sum.height; ++h) {
      const float *a = one + of_one.at(h, 0), *b = other + of_other.at(h, 0);
      float* to = sum + of_sum.at(h, 0);
      for (std::ptrdiff_t i = 0; i < row; i += kLanes) {
        const Vector value = load(a + i) + load(b + i);
        store(to + i, rectified ? positive(value) : value);
      }
    }
    one += of_one.size();
    other += of_other.size();
    sum += of_sum.size();
  }
}

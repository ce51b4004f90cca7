// What Python sees of models of text. As in module.cpp, everything that comes in is checked here, before the GIL is
// let go.
#include "text_module.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "../arrays.h"
#include "text_train.h"

namespace fedward {
namespace {

using Table = std::variant<std::int64_t, Floats>;

// The sequences of a user. They are kept alive and must not be written to.
class Tokens {
 public:
  Tokens(const Numbers& values, const Numbers& offsets) : values_(values), offsets_(offsets) {
    check_aligned(values);
    check_aligned(offsets);
    if (values.ndim() != 1 || offsets.ndim() != 1 || offsets.size() < 1) refuse("tokens and offsets must be rows");
    const std::int64_t* at = offsets.data();
    if (at[0] != 0 || at[offsets.size() - 1] != values.size())
      refuse("offsets must rise from 0 to the number of tokens, " + std::to_string(values.size()));
    for (py::ssize_t i = 0; i + 1 < offsets.size(); ++i) {
      if (at[i + 1] <= at[i]) refuse("example " + std::to_string(i) + " is an empty sequence, or ends before it begins");
      longest_ = std::max(longest_, at[i + 1] - at[i]);
    }
    for (py::ssize_t i = 0; i < values.size(); ++i)
      // As unsigned numbers those below zero are the largest.
      largest_ = std::max(largest_, std::uint64_t(values.data()[i]));
  }

  std::int64_t examples() const { return offsets_.size() - 1; }
  std::int64_t longest() const { return longest_; }
  std::uint64_t largest() const { return largest_; }
  Texts texts() const { return {values_.data(), offsets_.data(), nullptr}; }

 private:
  Numbers values_, offsets_;
  std::int64_t longest_ = 0;
  std::uint64_t largest_ = 0;
};

class TextEngine {
 public:
  TextEngine(int tokens, int numbers, const Table& table, std::int64_t padding,
             const std::vector<TextDescription::Lstm>& layers, int classes, std::pair<std::int64_t, std::int64_t> output_at,
             std::int64_t parameters, const std::string& instructions)
      : kernels_(kernels_named(instructions.c_str())), table_(table),
        plan_(described(tokens, numbers, padding, layers, classes, output_at), parameters, kernels_.lanes) {}

  Floats train(const Floats& start, const Tokens& x, const Numbers& y, const Numbers& order,
               const std::vector<std::int64_t>& sizes, float learning_rate, float momentum, float weight_decay,
               double bound) {
    check_model(start, plan_.parameters);
    const Texts texts = checked(x, y, order);
    check_steps(sizes, order.size());
    check_bound(bound);
    Floats update(plan_.parameters);
    run([&](TextNetwork& network) {
      fedward::train(network, start.data(), texts, sizes, order.data(), {learning_rate, momentum, weight_decay, bound},
                     update.mutable_data());
    });
    return update;
  }

  Floats gradient(const Floats& model, const Tokens& x, const Numbers& y, const Numbers& index) {
    check_model(model, plan_.parameters);
    const Texts texts = checked(x, y, index);
    if (index.size() == 0) refuse("a gradient needs at least one example");
    Floats found(plan_.parameters);
    run([&](TextNetwork& network) {
      fedward::gradient(network, model.data(), texts, index.data(), index.size(), found.mutable_data());
    });
    return found;
  }

  Doubles clipped_sum(const Floats& model, const Tokens& x, const Numbers& y, const Numbers& index,
                      const std::vector<double>& bounds) {
    check_model(model, plan_.parameters);
    const Texts texts = checked(x, y, index);
    check_clip_bounds(bounds, plan_.groups());
    Doubles found(plan_.parameters);
    run([&](TextNetwork& network) {
      fedward::clipped_sum(network, model.data(), texts, index.data(), index.size(), bounds, found.mutable_data());
    });
    return found;
  }

  Floats scores(const Floats& model, const Tokens& x, std::int64_t first, std::int64_t count) {
    check_model(model, plan_.parameters);
    check_tokens(x);
    check_span(first, count, x.examples());
    Floats found({py::ssize_t(count), py::ssize_t(plan_.classes())});
    run([&](TextNetwork& network) {
      fedward::scores(network, model.data(), x.texts(), first, count, found.mutable_data());
    });
    return found;
  }

  bool covers(const Tokens& x) const {
    return x.largest() < std::uint64_t(plan_.tokens) && x.longest() <= plan_.longest;
  }
  int classes() const { return plan_.classes(); }
  int chunk() const { return plan_.chunk; }
  const char* instructions() const { return kernels_.name; }

 private:
  TextDescription described(int tokens, int numbers, std::int64_t padding,
                            const std::vector<TextDescription::Lstm>& layers, int classes,
                            std::pair<std::int64_t, std::int64_t> output_at) const {
    TextDescription made;
    made.tokens = tokens;
    made.numbers = numbers;
    if (const Floats* frozen = std::get_if<Floats>(&table_)) {
      check_aligned(*frozen);
      if (frozen->ndim() != 2 || frozen->shape(0) != tokens || frozen->shape(1) != numbers)
        refuse("the word vectors must have shape (" + std::to_string(tokens) + ", " + std::to_string(numbers) +
               ", ), got " + shape_of(*frozen));
      made.frozen = frozen->data();
    } else {
      made.table_at = std::get<std::int64_t>(table_);
    }
    made.padding = padding;
    made.layers = layers;
    made.classes = classes;
    made.output_at = output_at.first;
    made.output_bias_at = output_at.second;
    return made;
  }

  void check_tokens(const Tokens& x) const {
    if (x.largest() >= std::uint64_t(plan_.tokens))
      refuse("a token does not exist: there are " + std::to_string(plan_.tokens));
    if (x.longest() > plan_.longest)
      refuse("an example may have " + std::to_string(plan_.longest) + " tokens, got " + std::to_string(x.longest()));
  }

  Texts checked(const Tokens& x, const Numbers& y, const Numbers& index) const {
    check_tokens(x);
    check_order(index, y, x.examples(), plan_.classes());
    Texts texts = x.texts();
    texts.labels = y.data();
    return texts;
  }

  template <class Work>
  void run(Work&& work) {
    idle_.lend([&] { return std::make_unique<TextNetwork>(plan_, kernels_); }, work);
  }

  const Kernels& kernels_;
  const Table table_;  // frozen vectors are read where they lie
  const TextPlan plan_;
  Idle<TextNetwork> idle_;
};

}  // namespace

void define_text(py::module_& m) {
  using py::arg;
  py::class_<TextDescription::Lstm>(m, "Lstm")
      .def(py::init([](int inputs, int units, std::int64_t input_at, std::int64_t recurrent_at,
                       std::int64_t input_bias_at, std::int64_t recurrent_bias_at) {
             return TextDescription::Lstm{inputs, units, input_at, recurrent_at, input_bias_at, recurrent_bias_at};
           }),
           py::kw_only(), arg("inputs"), arg("units"), arg("input_at"), arg("recurrent_at"), arg("input_bias_at"),
           arg("recurrent_bias_at"));
  py::class_<Tokens>(m, "Tokens")
      .def(py::init<const Numbers&, const Numbers&>(), arg("values").noconvert(), arg("offsets").noconvert());
  py::class_<TextEngine>(m, "TextEngine")
      .def(py::init<int, int, const Table&, std::int64_t, const std::vector<TextDescription::Lstm>&, int,
                    std::pair<std::int64_t, std::int64_t>, std::int64_t, const std::string&>(),
           py::kw_only(), arg("tokens"), arg("numbers"), arg("table").noconvert(), arg("padding"), arg("layers"),
           arg("classes"), arg("output_at"), arg("parameters"), arg("instructions") = "auto")
      .def("train", &TextEngine::train, arg("start").noconvert(), arg("x"), arg("y").noconvert(),
           arg("order").noconvert(), arg("sizes"), py::kw_only(), arg("learning_rate"), arg("momentum") = 0.0f,
           arg("weight_decay") = 0.0f, arg("bound") = 0.0)
      .def("gradient", &TextEngine::gradient, arg("model").noconvert(), arg("x"), arg("y").noconvert(),
           arg("index").noconvert())
      .def("clipped_sum", &TextEngine::clipped_sum, arg("model").noconvert(), arg("x"), arg("y").noconvert(),
           arg("index").noconvert(), arg("bounds"))
      .def("scores", &TextEngine::scores, arg("model").noconvert(), arg("x"), arg("first"), arg("count"))
      .def("covers", &TextEngine::covers, arg("x"), "Whether all tokens exist and no example is too long.")
      .def_property_readonly("classes", &TextEngine::classes)
      .def_property_readonly("chunk", &TextEngine::chunk)
      .def_property_readonly("instructions", &TextEngine::instructions);
}

}  // namespace fedward

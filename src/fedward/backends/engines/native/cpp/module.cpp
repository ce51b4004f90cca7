// What Python sees. Everything that comes in is checked here, before the GIL is let go: behind this file nobody
// looks at a shape, an index or a label again.
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <vector>

#include "arrays.h"
#include "text/text_module.h"
#include "train.h"

namespace fedward {
namespace {

class Engine {
 public:
  Engine(int channels, int height, int width, const std::vector<Description>& layers, std::int64_t parameters,
         const std::string& instructions)
      : kernels_(kernels_named(instructions.c_str())),
        plan_(channels, height, width, layers, parameters, kernels_.lanes) {}

  Floats train(const Floats& start, const Floats& x, const Numbers& y, const Numbers& order,
               const std::vector<std::int64_t>& sizes, float learning_rate, float momentum, float weight_decay,
               double bound) {
    check_model(start, plan_.parameters);
    const Data data = checked(x, y, order);
    check_steps(sizes, order.size());
    check_bound(bound);
    Floats update(plan_.parameters);
    run([&](Network& network) {
      fedward::train(network, start.data(), data, sizes, order.data(),
                     {learning_rate, momentum, weight_decay, bound}, update.mutable_data());
    });
    return update;
  }

  Floats gradient(const Floats& model, const Floats& x, const Numbers& y, const Numbers& index) {
    check_model(model, plan_.parameters);
    const Data data = checked(x, y, index);
    if (index.size() == 0) refuse("a gradient needs at least one example");
    Floats found(plan_.parameters);
    run([&](Network& network) {
      fedward::gradient(network, model.data(), data, index.data(), index.size(), found.mutable_data());
    });
    return found;
  }

  Doubles clipped_sum(const Floats& model, const Floats& x, const Numbers& y, const Numbers& index,
                      const std::vector<double>& bounds) {
    check_model(model, plan_.parameters);
    const Data data = checked(x, y, index);
    check_clip_bounds(bounds, static_cast<int>(plan_.learning().size()));
    Doubles found(plan_.parameters);
    run([&](Network& network) {
      fedward::clipped_sum(network, model.data(), data, index.data(), index.size(), bounds, found.mutable_data());
    });
    return found;
  }

  Floats scores(const Floats& model, const Floats& x, std::int64_t first, std::int64_t count) {
    check_model(model, plan_.parameters);
    check_examples(x);
    check_span(first, count, x.shape(0));
    Floats found({py::ssize_t(count), py::ssize_t(plan_.classes())});
    run([&](Network& network) {
      fedward::scores(network, model.data(), x.data(), first, count, found.mutable_data());
    });
    return found;
  }

  int classes() const { return plan_.classes(); }
  int chunk() const { return plan_.chunk; }
  const char* instructions() const { return kernels_.name; }

 private:
  void check_examples(const Floats& x) const {
    check_aligned(x);
    const Grid& grid = plan_.input();
    const bool pictures = x.ndim() == 4 && x.shape(1) == grid.channels && x.shape(2) == grid.height &&
                          x.shape(3) == grid.width;
    // Features may have any shape: the model flattens them.
    std::int64_t features = 1;
    for (py::ssize_t i = 1; i < x.ndim(); ++i) features *= x.shape(i);
    const bool flat = x.ndim() > 1 && grid.height == 1 && grid.width == 1 && features == grid.channels;
    if (!pictures && !flat) refuse("examples have the wrong shape for this model, got " + shape_of(x));
  }

  Data checked(const Floats& x, const Numbers& y, const Numbers& index) const {
    check_examples(x);
    check_order(index, y, x.shape(0), plan_.classes());
    return {x.data(), y.data()};
  }

  template <class Work>
  void run(Work&& work) {
    idle_.lend([&] { return std::make_unique<Network>(plan_, kernels_); }, work);
  }

  const Kernels& kernels_;
  const Plan plan_;
  Idle<Network> idle_;
};

Description::Kind kind_named(const std::string& name) {
  if (name == "convolution") return Description::Kind::convolution;
  if (name == "largest") return Description::Kind::largest;
  if (name == "mean") return Description::Kind::mean;
  if (name == "adaptive_mean") return Description::Kind::adaptive_mean;
  if (name == "relu") return Description::Kind::relu;
  if (name == "normalisation") return Description::Kind::normalisation;
  if (name == "branch") return Description::Kind::branch;
  if (name == "shortcut") return Description::Kind::shortcut;
  if (name == "sum") return Description::Kind::sum;
  refuse("there is no kind of layer called " + name);
}

Description describe(const std::string& kind, int outputs, std::pair<int, int> kernel, std::pair<int, int> stride,
                     std::pair<int, int> padding, bool counts_padding, std::pair<int, int> out,
                     std::int64_t weight_at, std::int64_t bias_at, bool channels_last, int groups, float epsilon) {
  return {kind_named(kind), outputs,        kernel.first, kernel.second, stride.first, stride.second,
          padding.first,    padding.second, counts_padding, out.first,   out.second,   weight_at,
          bias_at,          channels_last,  groups,         epsilon};
}

}  // namespace
}  // namespace fedward

PYBIND11_MODULE(_engine, m) {
  using namespace fedward;
  using py::arg;
  m.doc() = "Local training of small convolutional networks. See docs/native.md.";
  py::class_<Description>(m, "Layer")
      .def(py::init(&describe), arg("kind"), py::kw_only(), arg("outputs") = 0, arg("kernel") = std::pair(0, 0),
           arg("stride") = std::pair(1, 1), arg("padding") = std::pair(0, 0), arg("counts_padding") = true,
           arg("out") = std::pair(0, 0), arg("weight_at") = 0, arg("bias_at") = -1, arg("channels_last") = true,
           arg("groups") = 0, arg("epsilon") = 0.0f);
  py::class_<Engine>(m, "Engine")
      .def(py::init<int, int, int, const std::vector<Description>&, std::int64_t, const std::string&>(),
           arg("channels"), arg("height"), arg("width"), arg("layers"), arg("parameters"), arg("instructions") = "auto")
      .def("train", &Engine::train, arg("start").noconvert(), arg("x").noconvert(), arg("y").noconvert(),
           arg("order").noconvert(), arg("sizes"), py::kw_only(), arg("learning_rate"), arg("momentum") = 0.0f,
           arg("weight_decay") = 0.0f, arg("bound") = 0.0)
      .def("gradient", &Engine::gradient, arg("model").noconvert(), arg("x").noconvert(), arg("y").noconvert(),
           arg("index").noconvert())
      .def("clipped_sum", &Engine::clipped_sum, arg("model").noconvert(), arg("x").noconvert(), arg("y").noconvert(),
           arg("index").noconvert(), arg("bounds"))
      .def("scores", &Engine::scores, arg("model").noconvert(), arg("x").noconvert(), arg("first"), arg("count"))
      .def_property_readonly("classes", &Engine::classes)
      .def_property_readonly("chunk", &Engine::chunk)
      .def_property_readonly("instructions", &Engine::instructions);
  define_text(m);
  m.def("instruction_set", [](const std::string& name) { return std::string(kernels_named(name.c_str()).name); },
        arg("name") = "auto", "The instruction set of a name, if this processor has it.");
}

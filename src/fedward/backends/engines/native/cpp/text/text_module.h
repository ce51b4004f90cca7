// What Python sees of models of text.
#pragma once

#include <pybind11/pybind11.h>

namespace fedward {

void define_text(pybind11::module_& m);

}  // namespace fedward

// SPDX-License-Identifier: Apache-2.0
// Arrays for Python that own their memory.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace yolk::python {

/// An object, which stubs show as an array.
using FloatArray = nanobind::typed<nanobind::object, nanobind::ndarray<nanobind::numpy, float>>;

/// A NumPy array of this shape, which takes the memory over. Needs the interpreter's lock.
[[nodiscard]] inline FloatArray numpy_array(std::unique_ptr<float[]> values, std::vector<std::size_t> shape) {
    float* const data = values.release();
    const nanobind::capsule owner(data, [](void* memory) noexcept { delete[] static_cast<float*>(memory); });
    return nanobind::borrow<FloatArray>(
        nanobind::cast(nanobind::ndarray<nanobind::numpy, float>(data, shape.size(), shape.data(), owner)));
}

[[nodiscard]] inline FloatArray numpy_copy(std::span<const float> values, std::vector<std::size_t> shape) {
    auto copy = std::make_unique<float[]>(std::max<std::size_t>(1, values.size()));
    std::ranges::copy(values, copy.get());
    return numpy_array(std::move(copy), std::move(shape));
}

}  // namespace yolk::python

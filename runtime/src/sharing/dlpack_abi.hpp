// SPDX-License-Identifier: Apache-2.0
// The structures of DLPack's unversioned ABI, as its specification lays them out (dmlc.github.io/dlpack, C API); of all
// its versions, since they may not change. Declared here because Yolk builds without dlpack.h; a test compares the two
// where that is installed.
#pragma once

#include <cstdint>

namespace yolk::dlpack_abi {

struct Device {
    std::int32_t device_type;
    std::int32_t device_id;
};

struct DataType {
    std::uint8_t code;  ///< 0 signed, 1 unsigned, 2 floating point
    std::uint8_t bits;
    std::uint16_t lanes;
};

struct Tensor {
    void* data;
    Device device;
    std::int32_t ndim;
    DataType dtype;
    std::int64_t* shape;
    std::int64_t* strides;  ///< in elements
    std::uint64_t byte_offset;
};

struct ManagedTensor {
    Tensor dl_tensor;
    void* manager_ctx;
    void (*deleter)(ManagedTensor* self);
};

}  // namespace yolk::dlpack_abi

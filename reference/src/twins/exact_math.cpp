// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/reference/exact_math.hpp"

#include "yolk/exact/exact_activations.h"
#include "yolk/exact/exact_log.h"
#include "yolk/internal/abi/exact_math.h"

namespace yolk::reference {

float exact_math_twin(std::uint32_t function, float x) {
    namespace abi_em = abi::exact_math;
    switch (function) {
        case abi_em::kFlush: return exact::exact_flush(x);
        case abi_em::kFlushOperand: return exact::exact_flush_operand(x);
        case abi_em::kRoundHalfEven: return exact::exact_round_half_even(x);
        case abi_em::kReciprocal: return exact::exact_reciprocal(x);
        case abi_em::kSqrt: return exact::exact_sqrt(x);
        case abi_em::kTanh: return exact::exact_tanh(x);
        case abi_em::kExp: return exact::exact_exp(x);
        case abi_em::kSin: return exact::exact_sin(x);
        case abi_em::kCos: return exact::exact_cos(x);
        case abi_em::kLog: return exact::exact_log(x);
        case abi_em::kRelu: return exact::exact_relu(x);
        case abi_em::kGelu: return exact::exact_gelu(x);
        case abi_em::kSilu: return exact::exact_silu(x);
        case abi_em::kSigmoid: return exact::exact_sigmoid(x);
        default: return 0.0F;
    }
}

}  // namespace yolk::reference

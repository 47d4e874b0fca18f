// SPDX-License-Identifier: Apache-2.0
// The small models beside it, which models/make.py and models/make_decoders.py made, and copies of them that a test may
// spoil.
#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/safetensors.hpp"
#include "yolk/internal/core/text_file.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"

namespace yolk::transformer {

inline std::filesystem::path models_folder() { return YOLK_TEST_MODELS; }

inline Json stored_json(const std::filesystem::path& path) {
    const Result<std::string> text = read_text(path, std::size_t{1} << 24U);
    EXPECT_OK(text);
    const Result<Json> json = parse_json(text ? *text : "null", path.string());
    EXPECT_OK(json);
    return json ? *json : Json();
}

/// A copy of a model in fp32.
class CopiedModel {
   public:
    explicit CopiedModel(const std::string& model = "bert") {
        std::filesystem::copy(models_folder() / model, folder_, std::filesystem::copy_options::recursive);
    }
    ~CopiedModel() { std::filesystem::remove_all(folder_); }
    CopiedModel(const CopiedModel&) = delete;
    CopiedModel& operator=(const CopiedModel&) = delete;
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

    void change_json(const std::string& file, const std::function<void(Json&)>& change) const {
        Json json = stored_json(folder_ / file);
        change(json);
        EXPECT_OK(write_file_atomically(folder_ / file, std::string_view(json.dump())));
    }
    void change_tensors(const std::function<void(std::vector<StoredTensor>&)>& change) const {
        ASSERT_OK_AND_ASSIGN(const auto bytes, read_file(folder_ / "model.safetensors", std::size_t{1} << 24U));
        ASSERT_OK_AND_ASSIGN(TensorFile file, decode_foreign_safetensors(bytes, "the model"));
        std::erase_if(file.tensors, [](const StoredTensor& tensor) { return tensor.dtype != "F32"; });
        change(file.tensors);
        ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> changed, encode_safetensors(file));
        EXPECT_OK(write_file_atomically(folder_ / "model.safetensors", std::span<const std::byte>(changed)));
    }

   private:
    static inline int made_ = 0;
    const std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                          ("yolk-model-" + std::to_string(::getpid()) + "-" + std::to_string(++made_));
};

}  // namespace yolk::transformer

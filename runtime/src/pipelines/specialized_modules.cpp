// SPDX-License-Identifier: Apache-2.0
#include "specialized_modules.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <system_error>
#include <utility>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/shaders/specialize.hpp"
#include "yolk/log.hpp"

namespace yolk {
namespace {

constexpr std::array<char, 8> kModuleMagic{'Y', 'O', 'L', 'K', 'S', 'P', 'V', 'S'};

// Written as they lie in memory; the cache stays on the machine that made it.
struct ModuleFileHeader {
    std::array<char, 8> magic = kModuleMagic;
    std::uint64_t version = 1;
    std::uint64_t specializer = 0;
    std::uint64_t payload_bytes = 0;
    std::uint64_t payload_hash = 0;
};
struct ModuleHeader {
    ModuleKey key;
    std::uint64_t words = 0;
};
static_assert(sizeof(ModuleFileHeader) == 40 && sizeof(ModuleHeader) == 24);
static_assert(std::endian::native == std::endian::little);

template <class T>
void append(std::vector<std::byte>& to, std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    to.insert(to.end(), bytes.begin(), bytes.end());
}

/// The start of `bytes`, which it takes away; nothing where they are too few.
template <class T>
bool take(std::span<const std::byte>& bytes, std::span<T> values) {
    if (bytes.size() < values.size_bytes()) return false;
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size_bytes());
    bytes = bytes.subspan(values.size_bytes());
    return true;
}

}  // namespace

std::vector<std::byte> encode_module_file(std::uint64_t specializer, std::span<const SpecializedModule> modules,
                                          std::size_t max_bytes) {
    std::vector<std::byte> file(sizeof(ModuleFileHeader));
    for (const SpecializedModule& module : modules) {
        const ModuleHeader header{.key = module.key, .words = module.code.size()};
        if (file.size() + sizeof(header) + module.code.size() * 4 > max_bytes) continue;
        append(file, std::span(&header, 1));
        append(file, std::span(module.code));
    }
    const auto payload = std::span(file).subspan(sizeof(ModuleFileHeader));
    const ModuleFileHeader header{
        .specializer = specializer, .payload_bytes = payload.size(), .payload_hash = hash64(payload)};
    std::memcpy(file.data(), &header, sizeof(header));
    return file;
}

Result<std::vector<SpecializedModule>> decode_module_file(std::uint64_t specializer, std::span<const std::byte> file) {
    ModuleFileHeader header;
    std::span<const std::byte> rest = file;
    if (!take(rest, std::span(&header, 1))) return bad_input("it has {} bytes, too few for a header", file.size());
    if (header.magic != kModuleMagic) return bad_input("it is not a file of Yolk's specialized modules");
    if (header.version != 1) return bad_input("it has version {}, not 1", header.version);
    if (header.payload_bytes != rest.size() || header.payload_hash != hash64(rest)) return bad_input("it is torn");
    if (header.specializer != specializer) return std::vector<SpecializedModule>();
    std::vector<SpecializedModule> modules;
    while (!rest.empty()) {
        ModuleHeader of{};
        if (!take(rest, std::span(&of, 1)) || of.words > rest.size() / 4) return bad_input("its modules are torn");
        SpecializedModule& module = modules.emplace_back(of.key, std::vector<std::uint32_t>(of.words));
        static_cast<void>(take(rest, std::span(module.code)));
    }
    return modules;
}

void SpecializedModules::open(const std::filesystem::path& folder) {
    const std::lock_guard lock(mutex_);
    file_ = folder / "specialized-modules.bin";
}

void SpecializedModules::add_file() {
    std::error_code ignored;
    if (file_.empty() || !std::filesystem::exists(file_, ignored)) return;
    Result<std::vector<std::byte>> bytes = read_file(file_, kMaxModuleFileBytes);
    if (!bytes) {
        log_warning(fmt::format("Specialized modules are made anew: {}", bytes.error().message));
        return;
    }
    auto modules = decode_module_file(specializer_fingerprint(), *bytes);
    if (!modules) {
        log_warning(
            fmt::format("The file of specialized modules '{}' is ignored: {}.", shown(file_), modules.error().message));
        return;
    }
    for (SpecializedModule& module : *modules) modules_.try_emplace(module.key, Kept{.code = std::move(module.code)});
}

Result<std::vector<std::uint32_t>> SpecializedModules::get(const KernelModule& kernel, std::uint64_t spirv_hash,
                                                           std::span<const SpecConstant> constants, bool keep) {
    const ModuleKey key{.spirv = spirv_hash, .constants = hash64(std::as_bytes(constants))};
    {
        const std::lock_guard lock(mutex_);
        if (!std::exchange(has_read_, true)) add_file();
        if (const auto found = modules_.find(key); found != modules_.end()) {
            found->second.was_asked_for = true;
            return found->second.code;
        }
    }
    YOLK_TRY(std::vector<std::uint32_t> code, specialize(kernel, constants));
    if (!keep || file_.empty()) return code;
    const std::lock_guard lock(mutex_);
    modules_.insert_or_assign(key, Kept{.code = code, .was_asked_for = true});
    made_since_save_ = true;
    return code;
}

Result<void> SpecializedModules::save() {
    const std::lock_guard lock(mutex_);
    if (file_.empty() || !made_since_save_) return {};
    add_file();
    std::vector<SpecializedModule> in_order;
    for (const bool asked_for : {true, false}) {
        for (const auto& [key, kept] : modules_)
            if (kept.was_asked_for == asked_for) in_order.push_back({key, kept.code});
    }
    YOLK_TRY_VOID(create_folders(file_.parent_path()));
    YOLK_TRY_VOID(write_file_atomically(file_, encode_module_file(specializer_fingerprint(), in_order)));
    made_since_save_ = false;
    return {};
}

}  // namespace yolk

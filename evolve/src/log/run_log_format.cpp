// SPDX-License-Identifier: Apache-2.0
#include "run_log_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "yolk/internal/core/bytes.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/evolve/state_digest.hpp"
#include "yolk/json.hpp"

namespace yolk::evolve {
namespace {

static_assert(std::endian::native == std::endian::little, "the file has values as they lie in memory");

constexpr std::uint32_t kHasDigest = 1;
constexpr std::uint32_t kHasPolicyMean = 2;
constexpr std::uint32_t kSolved = 4;
constexpr std::uint32_t kKnownFlags = kHasDigest | kHasPolicyMean | kSolved;
/// As validate() has it: members of a generation.
constexpr std::uint64_t kMaxWeights = std::uint64_t{1} << 20U;
constexpr std::size_t kDigestDigits = 32;

/// What stands before a record's weights.
struct RecordHead {
    std::uint32_t generation = 0;
    std::uint32_t flags = 0;
    float policy_mean = 0.0F;
    std::uint32_t zero = 0;
    std::uint64_t digest[2] = {0, 0};  ///< its first 16 digits, its last
    abi::fitness::Summary summary{};
};
static_assert(sizeof(RecordHead) == 64);

std::size_t weight_bytes(const RunLogHeader& header) {
    return header.weights == FitnessWeights::I8 ? sizeof(std::int8_t) : sizeof(float);
}

std::optional<std::uint64_t> parse_half(std::string_view digits) {
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (code != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
}

bool is_digest(std::string_view text) {
    return text.size() == kDigestDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Error bad_header(std::string_view what, std::string_view why) {
    return bad_input("{} is damaged: {}. Restore it from a copy, or move it away.", what, why);
}

}  // namespace

std::uint64_t record_bytes(const RunLogHeader& header) noexcept {
    return sizeof(RecordHead) + weight_bytes(header) * header.weight_count + sizeof(float) * header.tail_count +
           kRunLogHashBytes;
}

std::uint64_t last_hash(std::span<const std::byte> bytes) noexcept {
    std::uint64_t hash = 0;
    std::memcpy(&hash, bytes.data() + bytes.size() - sizeof(hash), sizeof(hash));
    return hash;
}

Result<std::vector<std::byte>> encode_header(const RunLogHeader& header) {
    Json settings = Json::object();
    for (const auto& [name, value] : header.settings) settings[name] = value;
    Json json{{"weights", enum_words(header.weights)[std::size_t(header.weights)]},
              {"weight_count", header.weight_count},
              {"element_count", header.element_count},
              {"first_generation", header.first_generation},
              {"first_digest", header.first_digest},
              {"settings", std::move(settings)}};
    if (header.tail_count > 0) json["tail_count"] = header.tail_count;
    const std::string text = to_line(json);
    if (text.size() > kMaxRunLogText) {
        return bad_input(
            "The log's header would have {} bytes of settings and digests; {} are allowed. The names of frozen "
            "parameters are among them: give fewer.",
            text.size(), kMaxRunLogText);
    }
    std::vector<std::byte> out(kRunLogFixedBytes + text.size() + kRunLogHashBytes);
    const auto text_bytes = static_cast<std::uint32_t>(text.size());
    std::memcpy(out.data(), kRunLogMagic.data(), kRunLogMagic.size());
    const std::uint32_t version = header.tail_count > 0 ? kRunLogVersionWithTail : kRunLogVersion;
    std::memcpy(out.data() + kRunLogMagic.size(), &version, sizeof(version));
    std::memcpy(out.data() + kRunLogMagic.size() + sizeof(version), &text_bytes, sizeof(text_bytes));
    std::memcpy(out.data() + kRunLogFixedBytes, text.data(), text.size());
    const std::size_t hashed = out.size() - kRunLogHashBytes;
    const std::uint64_t hash = hash64(std::span(out).first(hashed));
    std::memcpy(out.data() + hashed, &hash, sizeof(hash));
    return out;
}

Result<RunLogHeader> decode_header(std::string_view text, std::string_view what, bool has_tail) {
    YOLK_TRY(const Json json, parse_json(text, fmt::format("the header of {}", what)));
    if (!json.is_object()) return bad_header(what, "its header is not a JSON object");
    RunLogHeader header;
    const auto read_count = [&json](const char* key, std::uint32_t& to, std::uint64_t least, std::uint64_t most) {
        const auto at = json.find(key);
        if (at == json.end() || !at->is_number_unsigned()) return false;
        const auto value = at->get<std::uint64_t>();
        to = static_cast<std::uint32_t>(value);
        return value >= least && value <= most;
    };
    if (!read_count("weight_count", header.weight_count, 1, kMaxWeights) ||
        !read_count("element_count", header.element_count, 1, 0xFFFFFFFFU) ||
        !read_count("first_generation", header.first_generation, 0, 0xFFFFFFFEU))
        return bad_header(what, "a count in its header is missing or outside its limits");
    if (has_tail && !read_count("tail_count", header.tail_count, 1, header.element_count))
        return bad_header(what, "its version is of generations that set elements, but it does not say how many");
    const auto weights = json.find("weights");
    const auto words = enum_words(header.weights);
    const auto word = weights == json.end() ? words.end() : std::ranges::find_if(words, [&](std::string_view known) {
        return *weights == Json(known);
    });
    if (word == words.end()) return bad_header(what, "its header does not say which weights it has");
    header.weights = static_cast<FitnessWeights>(word - words.begin());
    const auto digest = json.find("first_digest");
    if (digest == json.end() || !digest->is_string() || !is_digest(digest->get<std::string>()))
        return bad_header(what, "the digest in its header is not 32 hexadecimal digits");
    header.first_digest = digest->get<std::string>();
    const auto settings = json.find("settings");
    if (settings == json.end() || !settings->is_object()) return bad_header(what, "its header has no settings");
    for (const auto& [name, value] : settings->items()) {
        if (!value.is_string()) return bad_header(what, fmt::format("its setting '{}' is not text", shown(name)));
        header.settings.emplace_back(name, value.get<std::string>());
    }
    return header;
}

std::uint64_t record_hash(std::uint64_t header_hash, std::span<const std::byte> record) {
    const std::span<const std::byte> hashed = record.first(record.size() - kRunLogHashBytes);
    std::vector<std::byte> all(sizeof(header_hash) + hashed.size());
    std::memcpy(all.data(), &header_hash, sizeof(header_hash));
    std::ranges::copy(hashed, all.begin() + sizeof(header_hash));
    return hash64(all);
}

Result<std::vector<std::byte>> encode_record(const RunLogHeader& header, std::uint64_t header_hash,
                                             const LoggedGeneration& generation) {
    const bool integers = header.weights == FitnessWeights::I8;
    const auto weights = integers ? std::as_bytes(std::span(generation.shaped.integer_weights))
                                  : std::as_bytes(std::span(generation.shaped.float_weights));
    const std::size_t others =
        integers ? generation.shaped.float_weights.size() : generation.shaped.integer_weights.size();
    if (weights.size() != weight_bytes(header) * header.weight_count || others != 0) {
        return bad_input("There are {} int8 and {} fp32 weights; this log has {} {} and none of the other kind.",
                         generation.shaped.integer_weights.size(), generation.shaped.float_weights.size(),
                         header.weight_count, integers ? "int8" : "fp32");
    }
    if (generation.shaped.tail.size() != header.tail_count) {
        return bad_input("The generation sets {} elements of the parameters; those of this log set {}.",
                         generation.shaped.tail.size(), header.tail_count);
    }
    RecordHead head{.generation = generation.generation, .summary = generation.shaped.summary};
    if (!generation.digest.empty()) {
        if (!is_digest(generation.digest))
            return bad_input("The state digest is '{}'; it has 32 hexadecimal digits.", shown(generation.digest));
        head.flags |= kHasDigest;
        for (const std::size_t half : {0U, 1U})
            head.digest[half] = parse_half(std::string_view(generation.digest).substr(half * 16, 16)).value_or(0);
    }
    if (generation.policy_mean) {
        head.flags |= kHasPolicyMean;
        head.policy_mean = *generation.policy_mean;
    }
    if (generation.solved) head.flags |= kSolved;
    std::vector<std::byte> record(record_bytes(header));
    std::memcpy(record.data(), &head, sizeof(head));
    std::ranges::copy(weights, record.begin() + sizeof(head));
    std::ranges::copy(std::as_bytes(std::span(generation.shaped.tail)),
                      record.begin() + static_cast<std::ptrdiff_t>(sizeof(head) + weights.size()));
    const std::uint64_t hash = record_hash(header_hash, record);
    std::memcpy(record.data() + record.size() - kRunLogHashBytes, &hash, sizeof(hash));
    return record;
}

std::optional<LoggedGeneration> decode_record(const RunLogHeader& header, std::span<const std::byte> record) {
    RecordHead head;
    std::memcpy(&head, record.data(), sizeof(head));
    if ((head.flags & ~kKnownFlags) != 0) return std::nullopt;
    LoggedGeneration generation{.generation = head.generation};
    generation.shaped.summary = head.summary;
    const std::size_t weights_size = weight_bytes(header) * header.weight_count;
    const auto weights = record.subspan(sizeof(head), weights_size);
    if (header.weights == FitnessWeights::I8) {
        generation.shaped.integer_weights = values_in<std::int8_t>(weights);
    } else {
        generation.shaped.float_weights = values_in<float>(weights);
    }
    generation.shaped.tail =
        values_in<float>(record.subspan(sizeof(head) + weights_size, sizeof(float) * header.tail_count));
    if ((head.flags & kHasPolicyMean) != 0) generation.policy_mean = head.policy_mean;
    generation.solved = (head.flags & kSolved) != 0;
    if ((head.flags & kHasDigest) != 0)
        generation.digest = fmt::format("{:016x}{:016x}", head.digest[0], head.digest[1]);
    return generation;
}

Result<RunLogHeader> run_log_header(std::vector<std::pair<std::string, std::string>> settings,
                                    const EvolutionOptions& options, std::span<const float> parameters,
                                    std::span<const float> optimizer_state, std::uint32_t generation,
                                    std::uint32_t tail_count) {
    YOLK_TRY(std::string digest, state_digest(parameters, optimizer_state, generation));
    return RunLogHeader{.settings = std::move(settings),
                        .weights = is_integer_rule(options.fitness) ? FitnessWeights::I8 : FitnessWeights::F32,
                        .weight_count = options.antithetic ? options.population / 2 : options.population,
                        .element_count = static_cast<std::uint32_t>(parameters.size()),
                        .first_generation = generation,
                        .first_digest = std::move(digest),
                        .tail_count = tail_count};
}

}  // namespace yolk::evolve

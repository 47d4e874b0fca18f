// SPDX-License-Identifier: Apache-2.0
// A model call as a host function: the request out of its operands, the answer as a value.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "models_in_force.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"
#include "yolk/json.hpp"
#include "yolk/models.hpp"

namespace yolk::hyper {
namespace {

using chat::Schema;

/// What a dry run goes on with.
Result<Value> first_value(const Schema& schema) {
    switch (schema.kind) {
        case Schema::Kind::Str: return Value("");
        case Schema::Kind::Int: return Value(0);
        case Schema::Kind::Float: return Value(0.0);
        case Schema::Kind::Bool: return Value(false);
        case Schema::Kind::Enum: return Value(schema.values.empty() ? std::string() : schema.values.front());
        case Schema::Kind::List: return Value(List());
        case Schema::Kind::Doc: break;
    }
    Record::Fields fields;
    for (const chat::Field& field : schema.fields) {
        YOLK_TRY(Value value, first_value(field.schema));
        fields.emplace_back(field.name, std::move(value));
    }
    YOLK_TRY(Record record, Record::create(std::move(fields)));
    return Value(std::move(record));
}

/// Of a reply that has passed its schema.
Result<Value> reply_value(const Schema& schema, const Json& json) {
    switch (schema.kind) {
        case Schema::Kind::Str:
        case Schema::Kind::Enum: return Value(json.get<std::string>());
        case Schema::Kind::Int: return Value(json.get<std::int64_t>());
        case Schema::Kind::Float: return Value(json.get<double>());
        case Schema::Kind::Bool: return Value(json.get<bool>());
        case Schema::Kind::List: {
            List::Items items;
            for (const Json& item : json) {
                YOLK_TRY(Value value, reply_value(schema.item.front(), item));
                items.push_back(std::move(value));
            }
            YOLK_TRY(List list, List::create(std::move(items)));
            return Value(std::move(list));
        }
        case Schema::Kind::Doc: break;
    }
    Record::Fields fields;
    for (const chat::Field& field : schema.fields) {
        YOLK_TRY(Value value, reply_value(field.schema, json.at(field.name)));
        fields.emplace_back(field.name, std::move(value));
    }
    YOLK_TRY(Record record, Record::create(std::move(fields)));
    return Value(std::move(record));
}

Result<std::int64_t> whole(const std::string& name, double value) {
    constexpr double kMost = 0x1p53;
    if (std::isnan(value)) return bad_input("The setting '{}' is not a number.", name);
    return std::llround(std::clamp(value, -kMost, kMost));
}

Result<void> set_number(chat::Request& request, const std::string& name, const Value& given) {
    if (given.integer() != nullptr && name == "seed") {
        request.seed = *given.integer();
        return {};
    }
    if (given.integer() != nullptr && name == "max_tokens") {
        request.max_tokens = *given.integer();
        return {};
    }
    YOLK_TRY(const double value, given.as_written_number());
    if (name == "temperature") request.temperature = value;
    if (name == "top_p") request.top_p = value;
    if (name == "presence_penalty") request.presence_penalty = value;
    if (name == "frequency_penalty") request.frequency_penalty = value;
    if (name == "max_tokens") {
        YOLK_TRY(request.max_tokens, whole(name, value));
    }
    if (name == "seed") {
        if (value != std::floor(value)) return bad_input("The setting 'seed' is {}; it must be a whole number.", value);
        YOLK_TRY(request.seed, whole(name, value));
    }
    return {};
}

/// The numbers of an LmParam (5) or an LmTokenParam (6), in the order of their fields.
Result<void> set_sampling(chat::Request& request, std::span<const double> numbers, std::int64_t token_limit) {
    if (numbers.empty()) return {};
    if (numbers.size() != 5 && numbers.size() != 6) {
        return bad_input("The call is sampled by {} numbers; an LmParam has 5, an LmTokenParam 6.", numbers.size());
    }
    request.temperature = numbers[0];
    request.top_p = numbers[1];
    request.presence_penalty = numbers[2];
    request.frequency_penalty = numbers[3];
    if (numbers.size() == 6) {
        YOLK_TRY(request.max_tokens, whole("max_tokens", numbers[5]));
    } else {
        const double fraction = std::isnan(numbers[4]) ? 0.0 : std::clamp(numbers[4], 0.0, 1.0);
        request.max_tokens = LmParam{.max_tokens_fraction = fraction}.max_tokens(token_limit);
    }
    return {};
}

Result<chat::Request> request_of(const ModelCall& call, const HostCall& given) {
    const std::size_t settings = call.settings.size();
    if (given.operands.size() != settings + call.roles.size() + call.guards) {
        return bad_input("{} operands were given; the call has {} settings, {} messages and {} guards.",
                         given.operands.size(), settings, call.roles.size(), call.guards);
    }
    chat::Request request{.model = call.model, .stop = call.stop, .schema = call.schema};
    YOLK_TRY_VOID(set_sampling(request, written_numbers(given), call.token_limit));
    for (std::size_t i = 0; i < settings; ++i) {
        auto set = set_number(request, call.settings[i], given.operands[i]);
        if (!set) return std::move(set).error().while_doing("reading the setting '" + call.settings[i] + "'");
    }
    for (std::size_t i = 0; i < call.roles.size(); ++i) {
        const Value& content = given.operands[settings + i];
        if (content.text() == nullptr) {
            return bad_input("Message {} ({}) is {}; a message is text: format() makes one.", i, call.roles[i],
                             to_string(type_of(content)));
        }
        request.messages.push_back({call.roles[i], *content.text()});
    }
    return request;
}

bool is_silent(const ModelCall& call, std::span<const Value> operands) {
    const auto is_empty = [](const Value& guard) { return guard.text() != nullptr && guard.text()->empty(); };
    return call.guards > 0 && call.guards <= operands.size() &&
           std::ranges::all_of(operands.last(call.guards), is_empty);
}

Result<Value> answer_of(const ModelCall& call, const HostCall& given) {
    YOLK_TRY(const chat::Request request, request_of(call, given));
    YOLK_TRY(const chat::Answer answer, ask_models(call.tags, request, given.stop));
    if (!call.schema) return Value(answer.content);
    if (!answer.value.is_null()) return reply_value(*call.schema, answer.value);
    YOLK_TRY(const Json json, chat::parse_reply(*call.schema, answer.content));  // of a model that leaves it to us
    return reply_value(*call.schema, json);
}

/// Everything that tells one call from another.
std::string identity_of(const ModelCall& call, const HostOptions& options, const Value& stand_in) {
    return to_line(
        {{"model", call.model},
         {"roles", call.roles},
         {"settings", call.settings},
         {"stop", call.stop},
         {"tags", call.tags},
         {"schema", call.schema ? chat::to_json_schema(*call.schema) : Json()},
         {"token_limit", call.token_limit},
         {"guards", call.guards},
         {"host", {options.max_concurrency, options.timeout.count(), options.retries, options.backoff.count()}},
         {"stand_in", to_json(stand_in)}});
}

std::string name_of_model(const ModelCall& call) {
    std::string name = call.model.empty() ? "default" : call.model;
    if (!call.tags.empty()) name += fmt::format(" [{}]", fmt::join(call.tags, ", "));
    return name;
}

/// Functions that are in use, by identity.
class KnownFunctions {
   public:
    HostFunctionPtr get(const std::string& identity, HostFunction function) {
        const std::lock_guard lock(mutex_);
        if (known_.size() >= next_sweep_) {
            std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
            next_sweep_ = 2 * known_.size() + kFirstSweep;
        }
        std::weak_ptr<const HostFunction>& slot = known_[identity];
        if (HostFunctionPtr known = slot.lock()) return known;
        auto made = std::make_shared<const HostFunction>(std::move(function));
        slot = made;
        return made;
    }

   private:
    static constexpr std::size_t kFirstSweep = 64;
    std::mutex mutex_{};
    std::map<std::string, std::weak_ptr<const HostFunction>> known_{};
    std::size_t next_sweep_ = kFirstSweep;
};

}  // namespace

Result<HostFunctionPtr> model_function(ModelCall call, HostOptions options, std::optional<Value> stand_in) {
    if (call.schema) {
        YOLK_TRY_VOID(chat::check_schema(*call.schema));
        YOLK_TRY(Value first, first_value(*call.schema));
        if (!stand_in) stand_in = std::move(first);
    }
    static KnownFunctions known;
    HostFunction function{.name = name_of_model(call), .run = {}, .options = options};
    function.stand_in = stand_in.value_or(Value(""));
    const std::string identity = identity_of(call, options, function.stand_in);
    const auto model = std::make_shared<const ModelCall>(std::move(call));
    function.run = [model, blank = blank_of(type_of(function.stand_in))](const HostCall& given) -> Result<Value> {
        if (is_silent(*model, given.operands)) return blank;
        return answer_of(*model, given);
    };
    function.model = model;
    return known.get(identity, std::move(function));
}

}  // namespace yolk::hyper

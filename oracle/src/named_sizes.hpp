// SPDX-License-Identifier: Apache-2.0
// "outer=512 columns=64 operation=max": what the makers of named problems read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "yolk/core/result.hpp"
#include "yolk/oracle/family.hpp"

namespace yolk::oracle {

using ProblemPtr = std::unique_ptr<Problem>;

/// Sizes by name; each that is read is ticked off, so that what nobody reads can be named.
class Sizes {
   public:
    explicit Sizes(std::string_view text) : text_(text) {}

    [[nodiscard]] Result<void> parse(std::string_view words);
    std::uint32_t get(const char* name, std::uint32_t fallback);
    /// As check() says, 0 is refused.
    std::uint32_t need(const char* name);
    /// A number below `count`; check() refuses others.
    std::uint32_t below(const char* name, std::uint32_t count, std::uint32_t fallback);
    bool flag(const char* name, bool fallback = false) { return below(name, 2, fallback ? 1 : 0) != 0; }
    /// check() will say that the shape has `what`.
    void refuse(std::string what);
    [[nodiscard]] bool has(const char* name) const { return values_.contains(name); }
    /// After all have been read.
    [[nodiscard]] Result<void> check() const;

   private:
    std::string text_;
    std::map<std::string, std::string, std::less<>> values_;
    std::set<std::string> read_;
    std::string missing_;
    std::string wrong_;  ///< what check() refuses first
};

using MakeNamed = ProblemPtr (*)(Sizes&);

}  // namespace yolk::oracle

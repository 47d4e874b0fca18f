// SPDX-License-Identifier: Apache-2.0
// The files of `yolk inspect --ir`.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "inspected_rows.hpp"
#include "yolk/result.hpp"

namespace yolk::cli {

/// Writes each representation to its own file in a folder, under a name that says kernel, number of the configuration
/// and representation: "matmul_staged_fast-0003-Assembly.txt", ".bin" where it is no text. Where the same would be
/// named twice (a kernel with other constants in the same plan), the next is "...-2.txt".
class RepresentationFiles {
   public:
    /// Makes the folder where it is missing. Error: Io.
    [[nodiscard]] static Result<RepresentationFiles> in(std::filesystem::path folder);
    /// Takes the representations out of the row and leaves the files' names. Errors: those of writing a file.
    [[nodiscard]] Result<void> write(InspectedRow& row);

   private:
    explicit RepresentationFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
    std::filesystem::path folder_;
    std::map<std::string, int> used_;  ///< how often each name was wanted
};

}  // namespace yolk::cli

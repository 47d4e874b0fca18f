// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/cli/run.hpp"

int main(int argc, char** argv) { return yolk::cli::run(argc, argv); }

# The suite's device tests on the fetched lavapipe; sourced by tools/gpu-check.
# shellcheck shell=bash
# shellcheck disable=SC2154  # its user sets gpu_folder and root

# Modules with device tests. Not cli and testing, nor the topic below: they start processes, which would be on this machine's
# libc again.
test_modules=(runtime context primitives oracle evolve autotune hyper train)
tests_left_out='process_of_hanging.*'

# The validation layer of Debian 12 (1.3.239) does not know what the driver offers (VK_KHR_cooperative_matrix) and warns at every
# device, so the fetched one (1.4.309) is taken.
on_tested_driver() {
  local driver
  driver=$(gpu_driver lvp)
  YOLK_TEST_DRIVERS=$driver start_on "$driver" '' "$@"
}

# run_tests [MODULE]...
run_tests() {
  local folder module modules=("$@") targets=() log bad=() begun
  for module in "${modules[@]}"; do
    [[ " ${test_modules[*]} " == *" $module "* ]] || die "there is no module '$module' with device tests that can run here; there are ${test_modules[*]}" 2
  done
  [ "${#modules[@]}" -gt 0 ] || modules=("${test_modules[@]}")
  gpu_fetch
  if [ -n "${YOLK_TESTS:-}" ]; then
    folder=$(realpath -e "$YOLK_TESTS") || die "YOLK_TESTS is $YOLK_TESTS; it must be a build folder" 2
  else
    need_packages run test
    for module in "${modules[@]}"; do targets+=("yolk_${module}_tests"); done
    build dev "${targets[@]}"
    folder=$root/build/dev
  fi
  printf 'Mesa %s, fetched\n' "$(gpu_mesa)"
  for module in "${modules[@]}"; do
    log=$gpu_folder/tests.$module.log
    begun=$SECONDS
    # LLVM 19 compiles the widest roll-outs for minutes on a busy machine, which the watchdog must not take for a hang.
    YOLK_TEST_WATCHDOG_SECONDS=${YOLK_TEST_WATCHDOG_SECONDS:-1800} on_tested_driver "$folder/$module/yolk_${module}_tests" \
      --gtest_filter="-$tests_left_out" >"$log" 2>&1 || bad+=("$module")
    printf '%s: %s passed, %s failed, %s s\n' "$module" "$(grep -c '^\[       OK \]' "$log")" \
      "$(grep -c '^\[  FAILED  \].*[(][0-9]* ms)$' "$log")" $((SECONDS - begun))
    grep '^\[  FAILED  \].*[(][0-9]* ms)$' "$log" || true
  done
  [ "${#bad[@]}" -eq 0 ] || die "tests of ${bad[*]} failed, or ended early: $gpu_folder/tests.MODULE.log"
}

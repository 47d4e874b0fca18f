# SPDX-License-Identifier: Apache-2.0
# yolk_cuda_headers_suffice(FILE OUT): whether the cuda.h FILE declares all that src/cuda/ calls. Of that, timeline semaphores came
# with CUDA 11.2 and cuDeviceGetUuid_v2 with 11.4. An older one must not break a build for a part that is optional.
function(yolk_cuda_headers_suffice file out)
  set(found TRUE)
  foreach(needed "CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD +=" "cuDeviceGetUuid_v2")
    file(STRINGS ${file} lines REGEX ${needed} LIMIT_COUNT 1)
    if(NOT lines)
      set(found FALSE)
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

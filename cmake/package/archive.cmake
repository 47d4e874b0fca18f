# SPDX-License-Identifier: Apache-2.0
# Run by cpack between installing and packing. Takes debugging information out of the static libraries; and into the archive it puts
# the folder that tools/portable makes of the installed yolk: the libraries, and the script `yolk`, which starts bin/yolk on them.
file(GLOB_RECURSE archives ${CPACK_TEMPORARY_DIRECTORY}/libyolk_*.a)
if(archives)
  execute_process(COMMAND strip --strip-debug ${archives} COMMAND_ERROR_IS_FATAL ANY)
endif()
if(CPACK_GENERATOR STREQUAL "TGZ")
  set(installed ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
  set(folder ${CPACK_TEMPORARY_DIRECTORY}.portable)
  execute_process(COMMAND ${CPACK_YOLK_PORTABLE} --yolk ${installed}/bin/yolk --out ${folder} COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE ${folder}/.made-by-yolk-portable)
  file(COPY ${folder}/ DESTINATION ${installed})
  file(REMOVE_RECURSE ${folder})
endif()

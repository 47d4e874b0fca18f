# SPDX-License-Identifier: Apache-2.0
# Every kernel variant. FAMILY names the ABI header; the catalogue constant is k<Name>.
yolk_kernel(noise_i32 FAMILY noise SOURCE noise/noise.comp)
yolk_kernel(noise_f32 FAMILY noise SOURCE noise/noise.comp DEFINES NOISE_F32=1)
yolk_kernel(perturbed_linear_project FAMILY perturbed_linear UNROLLED SOURCE perturbed_linear/perturbed_linear_project.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul)
yolk_kernel(perturbed_linear_project_texel FAMILY perturbed_linear UNROLLED
  SOURCE perturbed_linear/perturbed_linear_project.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  TEXEL_MASKS kTexelMask kTexel4Mask DEFINES MATMUL_TEXEL=1)
yolk_kernel(perturbed_linear_output FAMILY perturbed_linear UNROLLED SOURCE perturbed_linear/perturbed_linear_output.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul)
yolk_kernel(perturbed_linear_output_fast FAMILY perturbed_linear TOLERANT UNROLLED SOURCE perturbed_linear/perturbed_linear_output.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES PERTURBED_LINEAR_FAST=1)
yolk_kernel(perturbed_linear_output_texel FAMILY perturbed_linear UNROLLED
  SOURCE perturbed_linear/perturbed_linear_output.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  TEXEL_MASKS kTexelMask kTexel4Mask DEFINES MATMUL_TEXEL=1)
yolk_kernel(perturbed_linear_output_texel_fast FAMILY perturbed_linear TOLERANT UNROLLED
  SOURCE perturbed_linear/perturbed_linear_output.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  TEXEL_MASKS kTexelMask kTexel4Mask DEFINES PERTURBED_LINEAR_FAST=1 MATMUL_TEXEL=1)
yolk_kernel(perturbed_linear_output_uniform_input FAMILY perturbed_linear UNROLLED
  SOURCE perturbed_linear/perturbed_linear_output.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  UNIFORM_MASK kUniformMaskOfA DEFINES MATMUL_UNIFORM=1)
yolk_kernel(perturbed_linear_output_uniform_input_fast FAMILY perturbed_linear TOLERANT UNROLLED
  SOURCE perturbed_linear/perturbed_linear_output.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  UNIFORM_MASK kUniformMaskOfA DEFINES PERTURBED_LINEAR_FAST=1 MATMUL_UNIFORM=1)
yolk_kernel(perturbed_linear_output_uniform_weights FAMILY perturbed_linear UNROLLED
  SOURCE perturbed_linear/perturbed_linear_output.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  UNIFORM_MASK kUniformMaskOfB DEFINES MATMUL_UNIFORM_B=1)
yolk_kernel(perturbed_linear_output_uniform_weights_fast FAMILY perturbed_linear TOLERANT UNROLLED
  SOURCE perturbed_linear/perturbed_linear_output.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  UNIFORM_MASK kUniformMaskOfB DEFINES PERTURBED_LINEAR_FAST=1 MATMUL_UNIFORM_B=1)
yolk_kernel(perturbed_linear_output_staged FAMILY perturbed_linear UNROLLED
  SOURCE perturbed_linear/perturbed_linear_output.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES MATMUL_STAGED=1)
yolk_kernel(perturbed_linear_output_staged_fast FAMILY perturbed_linear TOLERANT UNROLLED
  SOURCE perturbed_linear/perturbed_linear_output.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  DEFINES PERTURBED_LINEAR_FAST=1 MATMUL_STAGED=1)
yolk_kernel(perturbed_linear_output_staged_formats FAMILY perturbed_linear UNROLLED
  SOURCE perturbed_linear/perturbed_linear_output.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  DEFINES MATMUL_FORMATS=1 MATMUL_STAGED=1)
yolk_kernel(perturbed_linear_output_staged_formats_fast FAMILY perturbed_linear TOLERANT UNROLLED
  SOURCE perturbed_linear/perturbed_linear_output.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  DEFINES PERTURBED_LINEAR_FAST=1 MATMUL_FORMATS=1 MATMUL_STAGED=1)
yolk_kernel(perturbed_linear_project_formats FAMILY perturbed_linear UNROLLED
  SOURCE perturbed_linear/perturbed_linear_project.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES MATMUL_FORMATS=1)
yolk_kernel(perturbed_linear_project_storage16 FAMILY perturbed_linear UNROLLED NEEDS storage16
  SOURCE perturbed_linear/perturbed_linear_project.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  DEFINES MATMUL_FORMATS=1 MATMUL_STORAGE16=1)
yolk_kernel(perturbed_linear_output_formats FAMILY perturbed_linear UNROLLED
  SOURCE perturbed_linear/perturbed_linear_output.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES MATMUL_FORMATS=1)
yolk_kernel(perturbed_linear_output_formats_fast FAMILY perturbed_linear TOLERANT UNROLLED
  SOURCE perturbed_linear/perturbed_linear_output.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES PERTURBED_LINEAR_FAST=1 MATMUL_FORMATS=1)
yolk_kernel(perturbed_linear_output_storage16 FAMILY perturbed_linear UNROLLED NEEDS storage16
  SOURCE perturbed_linear/perturbed_linear_output.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  DEFINES MATMUL_FORMATS=1 MATMUL_STORAGE16=1)
yolk_kernel(perturbed_linear_output_storage16_fast FAMILY perturbed_linear TOLERANT UNROLLED NEEDS storage16
  SOURCE perturbed_linear/perturbed_linear_output.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  DEFINES PERTURBED_LINEAR_FAST=1 MATMUL_FORMATS=1 MATMUL_STORAGE16=1)
yolk_kernel(perturbed_embedding FAMILY perturbed_embedding UNROLLED SOURCE perturbed_embedding/perturbed_embedding.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/perturbed_linear)
yolk_kernel(perturbed_vector FAMILY perturbed_vector SOURCE perturbed_vector/perturbed_vector.comp)
yolk_kernel(perturbed_network FAMILY perturbed_network UNROLLED SOURCE perturbed_network/perturbed_network.comp)
yolk_kernel(perturbed_network_fast FAMILY perturbed_network TOLERANT UNROLLED SOURCE perturbed_network/perturbed_network.comp
  DEFINES NETWORK_FAST=1)
yolk_kernel(es_update_sum_i8 FAMILY es_update SOURCE es_update/es_update_sum.comp)
yolk_kernel(es_update_sum_f32 FAMILY es_update TOLERANT SOURCE es_update/es_update_sum.comp DEFINES ES_UPDATE_F32=1)
yolk_kernel(es_update_sum_wide_i8 FAMILY es_update SOURCE es_update/es_update_sum.comp DEFINES ES_UPDATE_WIDE=1)
yolk_kernel(es_update_sum_wide_f32 FAMILY es_update TOLERANT SOURCE es_update/es_update_sum.comp
            DEFINES ES_UPDATE_WIDE=1 ES_UPDATE_F32=1)
yolk_kernel(es_update_sum_staged_i8 FAMILY es_update SOURCE es_update/es_update_sum_staged.comp)
yolk_kernel(es_update_sum_staged_f32 FAMILY es_update TOLERANT SOURCE es_update/es_update_sum_staged.comp
  DEFINES ES_UPDATE_F32=1)
yolk_kernel(es_update_combine_i8 FAMILY es_update SOURCE es_update/es_update_combine.comp)
yolk_kernel(es_update_combine_f32 FAMILY es_update TOLERANT SOURCE es_update/es_update_combine.comp DEFINES ES_UPDATE_F32=1)
# Not named es_update_*: tuning tables know that family's modules by their hash (docs/adr/0022).
yolk_kernel(update_share_sum FAMILY update_share SOURCE es_update/es_update_sum.comp DEFINES ES_UPDATE_SHARE=1)
yolk_kernel(update_share_sum_wide FAMILY update_share SOURCE es_update/es_update_sum.comp
  DEFINES ES_UPDATE_WIDE=1 ES_UPDATE_SHARE=1)
yolk_kernel(update_share_sum_staged FAMILY update_share SOURCE es_update/es_update_sum_staged.comp
  DEFINES ES_UPDATE_SHARE=1)
yolk_kernel(update_share_combine FAMILY update_share SOURCE es_update/es_update_combine.comp DEFINES ES_UPDATE_SHARE=1)
yolk_kernel(optimizer FAMILY optimizer SOURCE optimizer/optimizer.comp)
yolk_kernel(probe_arithmetic FAMILY probe SOURCE probe/probe_arithmetic.comp)
yolk_kernel(probe_integer_dot FAMILY probe NEEDS integer_dot SOURCE probe/probe_integer_dot.comp)
yolk_kernel(probe_storage16 FAMILY probe NEEDS storage16 SOURCE probe/probe_storage16.comp)
yolk_kernel(probe_cooperative_nv FAMILY probe TOLERANT NEEDS cooperative_nv SOURCE probe/probe_cooperative.comp)
yolk_kernel(probe_cooperative_khr FAMILY probe TOLERANT NEEDS cooperative_khr SOURCE probe/probe_cooperative.comp)
yolk_kernel(probe_cooperative_bf16_khr FAMILY probe TOLERANT NEEDS cooperative_bf16 SOURCE probe/probe_cooperative.comp)
yolk_kernel(probe_cooperative_i8_khr FAMILY probe NEEDS cooperative_i8 SOURCE probe/probe_cooperative.comp
  DEFINES MATRIX_I8=1 MATRIX_NARROW=1)
yolk_kernel(probe_loops FAMILY probe SOURCE probe/probe_loops.comp)
yolk_kernel(fitness_scores FAMILY fitness SOURCE fitness/fitness_scores.comp)
yolk_kernel(fitness_moments FAMILY fitness SOURCE fitness/fitness_moments.comp)
yolk_kernel(fitness_histogram FAMILY fitness SOURCE fitness/fitness_histogram.comp)
yolk_kernel(fitness_select FAMILY fitness SOURCE fitness/fitness_select.comp)
yolk_kernel(fitness_ranks FAMILY fitness SOURCE fitness/fitness_ranks.comp)
yolk_kernel(fitness_sort_count FAMILY fitness SOURCE fitness/fitness_sort_count.comp)
yolk_kernel(fitness_sort_offsets FAMILY fitness SOURCE fitness/fitness_sort_offsets.comp)
yolk_kernel(fitness_sort_scatter FAMILY fitness SOURCE fitness/fitness_sort_scatter.comp)
yolk_kernel(fitness_sorted_ranks FAMILY fitness SOURCE fitness/fitness_sorted_ranks.comp)
yolk_kernel(fitness_rank_moments FAMILY fitness SOURCE fitness/fitness_rank_moments.comp)
yolk_kernel(fitness_scores_by_group FAMILY fitness SOURCE fitness/fitness_scores.comp DEFINES FITNESS_BY_GROUP=1)
yolk_kernel(fitness_moments_by_group FAMILY fitness SOURCE fitness/fitness_moments.comp DEFINES FITNESS_BY_GROUP=1)
yolk_kernel(fitness_histogram_by_group FAMILY fitness SOURCE fitness/fitness_histogram.comp DEFINES FITNESS_BY_GROUP=1)
yolk_kernel(fitness_select_by_group FAMILY fitness SOURCE fitness/fitness_select.comp DEFINES FITNESS_BY_GROUP=1)
yolk_kernel(fitness_rank_moments_by_group FAMILY fitness SOURCE fitness/fitness_rank_moments.comp
  DEFINES FITNESS_BY_GROUP=1)
yolk_kernel(fitness_sort_count_by_group FAMILY fitness SOURCE fitness/fitness_sort_count_by_group.comp)
yolk_kernel(fitness_sort_offsets_by_group FAMILY fitness SOURCE fitness/fitness_sort_offsets_by_group.comp)
yolk_kernel(fitness_sort_scatter_by_group FAMILY fitness SOURCE fitness/fitness_sort_scatter_by_group.comp)
yolk_kernel(fitness_weights_i8 FAMILY fitness SOURCE fitness/fitness_weights_i8.comp)
yolk_kernel(fitness_weights_f32 FAMILY fitness SOURCE fitness/fitness_weights_f32.comp)
yolk_kernel(fitness_finish FAMILY fitness SOURCE fitness/fitness_finish.comp)
yolk_kernel(convert_narrow FAMILY convert SOURCE convert/convert.comp DEFINES CONVERT_NARROW=1)
yolk_kernel(convert_widen FAMILY convert SOURCE convert/convert.comp)
yolk_kernel(concat FAMILY concat SOURCE concat/concat.comp)
yolk_kernel(concat_quads FAMILY concat SOURCE concat/concat.comp DEFINES CONCAT_QUADS=1)
yolk_kernel(gather FAMILY gather SOURCE gather/gather.comp)
yolk_kernel(gather_quads FAMILY gather SOURCE gather/gather.comp DEFINES GATHER_QUADS=1)
yolk_kernel(scatter FAMILY scatter SOURCE scatter/scatter.comp)
yolk_kernel(scatter_by_row FAMILY scatter SOURCE scatter/scatter_by_row.comp)
yolk_kernel(scatter_quads FAMILY scatter SOURCE scatter/scatter.comp DEFINES SCATTER_QUADS=1)
yolk_kernel(exact_math FAMILY exact_math SOURCE exact_math/exact_math.comp)
yolk_kernel(matmul_direct_fast FAMILY matmul TOLERANT UNROLLED SOURCE matmul/matmul_direct.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul)
yolk_kernel(matmul_direct_exact FAMILY matmul UNROLLED SOURCE matmul/matmul_direct.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  DEFINES MATMUL_EXACT=1)
yolk_kernel(matmul_uniform_fast FAMILY matmul TOLERANT UNROLLED SOURCE matmul/matmul_direct.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  UNIFORM_MASK kUniformMaskOfA DEFINES MATMUL_UNIFORM=1)
yolk_kernel(matmul_uniform_exact FAMILY matmul UNROLLED SOURCE matmul/matmul_direct.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  UNIFORM_MASK kUniformMaskOfA DEFINES MATMUL_UNIFORM=1 MATMUL_EXACT=1)
yolk_kernel(matmul_texel_fast FAMILY matmul TOLERANT UNROLLED SOURCE matmul/matmul_direct.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  TEXEL_MASKS kTexelMask kTexel4Mask DEFINES MATMUL_TEXEL=1)
yolk_kernel(matmul_texel_exact FAMILY matmul UNROLLED SOURCE matmul/matmul_direct.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  TEXEL_MASKS kTexelMask kTexel4Mask DEFINES MATMUL_TEXEL=1 MATMUL_EXACT=1)
yolk_kernel(matmul_staged_fast FAMILY matmul TOLERANT UNROLLED SOURCE matmul/matmul_staged.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul)
yolk_kernel(matmul_staged_exact FAMILY matmul UNROLLED SOURCE matmul/matmul_staged.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul
  DEFINES MATMUL_EXACT=1)
yolk_kernel(matmul_direct_formats_fast FAMILY matmul TOLERANT UNROLLED SOURCE matmul/matmul_direct.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES MATMUL_FORMATS=1)
yolk_kernel(matmul_direct_storage16_fast FAMILY matmul TOLERANT UNROLLED NEEDS storage16 SOURCE matmul/matmul_direct.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES MATMUL_FORMATS=1 MATMUL_STORAGE16=1)
yolk_kernel(matmul_direct_formats_exact FAMILY matmul UNROLLED SOURCE matmul/matmul_direct.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES MATMUL_FORMATS=1 MATMUL_EXACT=1)
yolk_kernel(matmul_direct_storage16_exact FAMILY matmul UNROLLED NEEDS storage16 SOURCE matmul/matmul_direct.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES MATMUL_FORMATS=1 MATMUL_STORAGE16=1 MATMUL_EXACT=1)
yolk_kernel(matmul_staged_formats_fast FAMILY matmul TOLERANT UNROLLED SOURCE matmul/matmul_staged.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES MATMUL_FORMATS=1)
yolk_kernel(matmul_staged_storage16_fast FAMILY matmul TOLERANT UNROLLED NEEDS storage16 SOURCE matmul/matmul_staged.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES MATMUL_FORMATS=1 MATMUL_STORAGE16=1)
yolk_kernel(matmul_staged_formats_exact FAMILY matmul UNROLLED SOURCE matmul/matmul_staged.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES MATMUL_FORMATS=1 MATMUL_EXACT=1)
yolk_kernel(matmul_staged_storage16_exact FAMILY matmul UNROLLED NEEDS storage16 SOURCE matmul/matmul_staged.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES MATMUL_FORMATS=1 MATMUL_STORAGE16=1 MATMUL_EXACT=1)
yolk_kernel(matmul_cooperative_nv FAMILY matmul TOLERANT NEEDS cooperative_nv SOURCE matmul/matmul_cooperative.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul)
yolk_kernel(matmul_cooperative_khr FAMILY matmul TOLERANT NEEDS cooperative_khr SOURCE matmul/matmul_cooperative.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul)
yolk_kernel(matmul_cooperative_staged_nv FAMILY matmul TOLERANT NEEDS cooperative_nv SOURCE matmul/matmul_cooperative_staged.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul)
yolk_kernel(matmul_cooperative_staged_khr FAMILY matmul TOLERANT NEEDS cooperative_khr SOURCE matmul/matmul_cooperative_staged.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul)
yolk_kernel(matmul_cooperative_bf16_khr FAMILY matmul TOLERANT NEEDS cooperative_bf16 SOURCE matmul/matmul_cooperative.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul)
yolk_kernel(matmul_cooperative_staged_bf16_khr FAMILY matmul TOLERANT NEEDS cooperative_bf16 SOURCE matmul/matmul_cooperative_staged.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul)
yolk_kernel(matmul_combine FAMILY matmul SOURCE matmul/matmul_combine.comp INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul)
yolk_kernel(matmul_i8_unpacked FAMILY matmul_i8 UNROLLED SOURCE matmul_i8/matmul_i8.comp)
yolk_kernel(matmul_i8_dot FAMILY matmul_i8 UNROLLED NEEDS integer_dot SOURCE matmul_i8/matmul_i8.comp DEFINES INTEGER_DOT=1)
yolk_kernel(matmul_i8_cooperative_khr FAMILY matmul_i8 NEEDS cooperative_i8 SOURCE matmul/matmul_cooperative_staged.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES MATRIX_I8=1)
yolk_kernel(matmul_i8_cooperative_narrow_khr FAMILY matmul_i8 NEEDS cooperative_i8 SOURCE matmul/matmul_cooperative_staged.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/matmul DEFINES MATRIX_I8=1 MATRIX_NARROW=1)
yolk_kernel(matmul_textbook FAMILY matmul TOLERANT SOURCE matmul/matmul_textbook.comp)
yolk_kernel(multiply_add FAMILY limits TOLERANT UNROLLED SOURCE limits/multiply_add.comp)
yolk_kernel(multiply_add_i8_dot FAMILY limits UNROLLED NEEDS integer_dot SOURCE limits/multiply_add.comp DEFINES INTEGER_DOT=1)
yolk_kernel(matrix_multiply_add_nv FAMILY limits TOLERANT NEEDS cooperative_nv SOURCE limits/matrix_multiply_add.comp)
yolk_kernel(matrix_multiply_add_khr FAMILY limits TOLERANT NEEDS cooperative_khr SOURCE limits/matrix_multiply_add.comp)
yolk_kernel(row_program_by_group FAMILY row_program SOURCE row_program/row_program.comp)
yolk_kernel(row_program_by_invocation FAMILY row_program SOURCE row_program/row_program.comp DEFINES ROWS_BY_INVOCATION=1)
yolk_kernel(row_program_by_invocation_texel FAMILY row_program SOURCE row_program/row_program.comp TEXEL_MASKS kTexelMask kNoTexels
  DEFINES ROWS_BY_INVOCATION=1 ROWS_TEXEL=1)
yolk_kernel(row_program_quads FAMILY row_program SOURCE row_program/row_program.comp DEFINES ROWS_BY_INVOCATION=1 ROWS_QUADS=1)
yolk_kernel(row_program_quads_texel FAMILY row_program SOURCE row_program/row_program.comp TEXEL_MASKS kNoTexels kTexelMask
  DEFINES ROWS_BY_INVOCATION=1 ROWS_QUADS=1 ROWS_TEXEL=1)
yolk_kernel(block_inverse_gauss_jordan FAMILY block_inverse TOLERANT SOURCE block_inverse/block_inverse_gauss_jordan.comp)
yolk_kernel(block_inverse_prepare FAMILY block_inverse SOURCE block_inverse/block_inverse_prepare.comp)
yolk_kernel(block_inverse_begin FAMILY block_inverse SOURCE block_inverse/block_inverse_begin.comp)
yolk_kernel(block_inverse_judge FAMILY block_inverse SOURCE block_inverse/block_inverse_judge.comp)
yolk_kernel(block_inverse_finish FAMILY block_inverse SOURCE block_inverse/block_inverse_finish.comp)
yolk_kernel(block_inverse_verdict FAMILY block_inverse SOURCE block_inverse/block_inverse_verdict.comp)
yolk_kernel(block_inverse_report FAMILY block_inverse SOURCE block_inverse/block_inverse_report.comp)
yolk_kernel(block_inverse_pivoted FAMILY block_inverse SOURCE block_inverse/block_inverse_pivoted.comp)
yolk_kernel(block_inverse_back FAMILY block_inverse SOURCE block_inverse/block_inverse_back.comp)
yolk_kernel(block_inverse_panel FAMILY block_inverse UNROLLED SOURCE block_inverse/block_inverse_panel.comp)
yolk_kernel(block_inverse_panel_lines FAMILY block_inverse UNROLLED SOURCE block_inverse/block_inverse_panel_lines.comp)
yolk_kernel(block_inverse_check FAMILY block_inverse SOURCE block_inverse/block_inverse_finish.comp DEFINES BLOCK_CHECK=1)
yolk_kernel(block_inverse_forward FAMILY block_inverse UNROLLED SOURCE block_inverse/block_inverse_update.comp)
yolk_kernel(block_inverse_backward FAMILY block_inverse UNROLLED SOURCE block_inverse/block_inverse_update.comp
  DEFINES BLOCK_BACKWARD=1)
yolk_kernel(block_inverse_residual FAMILY block_inverse UNROLLED SOURCE block_inverse/block_inverse_residual.comp)
yolk_kernel(block_inverse_registers_4 FAMILY block_inverse SOURCE block_inverse/block_inverse_registers.comp
  DEFINES BLOCK_N=4 BLOCK_N_MINUS_1=3)
yolk_kernel(block_inverse_registers_8 FAMILY block_inverse SOURCE block_inverse/block_inverse_registers.comp
  DEFINES BLOCK_N=8 BLOCK_N_MINUS_1=7)
yolk_kernel(block_inverse_registers_16 FAMILY block_inverse SOURCE block_inverse/block_inverse_registers.comp
  DEFINES BLOCK_N=16 BLOCK_N_MINUS_1=15)
yolk_kernel(block_inverse_registers_24 FAMILY block_inverse SOURCE block_inverse/block_inverse_registers.comp
  DEFINES BLOCK_N=24 BLOCK_N_MINUS_1=23)
yolk_kernel(block_inverse_registers_32 FAMILY block_inverse SOURCE block_inverse/block_inverse_registers.comp
  DEFINES BLOCK_N=32 BLOCK_N_MINUS_1=31)
yolk_kernel(block_trace_by_group FAMILY block_trace SOURCE block_trace/block_trace.comp)
yolk_kernel(block_trace_by_invocation FAMILY block_trace SOURCE block_trace/block_trace.comp
            DEFINES ROWS_BY_INVOCATION=1)
yolk_kernel(covariance_average FAMILY covariance SOURCE covariance/covariance_average.comp)
yolk_kernel(covariance_damp FAMILY covariance SOURCE covariance/covariance_damp.comp)
yolk_kernel(expected_improvement FAMILY expected_improvement SOURCE expected_improvement/expected_improvement.comp)
yolk_kernel(natural_gradient_product_by_group FAMILY natural_gradient
            SOURCE natural_gradient/natural_gradient_product.comp)
yolk_kernel(natural_gradient_product_by_invocation FAMILY natural_gradient
            SOURCE natural_gradient/natural_gradient_product.comp
            DEFINES ROWS_BY_INVOCATION=1)
yolk_kernel(natural_gradient_project_by_group FAMILY natural_gradient
            SOURCE natural_gradient/natural_gradient_project.comp)
yolk_kernel(natural_gradient_project_by_invocation FAMILY natural_gradient
            SOURCE natural_gradient/natural_gradient_project.comp
            DEFINES ROWS_BY_INVOCATION=1)
yolk_kernel(inverse_sqrt_norm_by_group FAMILY inverse_sqrt SOURCE inverse_sqrt/inverse_sqrt_rows.comp)
yolk_kernel(inverse_sqrt_norm_by_invocation FAMILY inverse_sqrt SOURCE inverse_sqrt/inverse_sqrt_rows.comp
            DEFINES ROWS_BY_INVOCATION=1)
yolk_kernel(inverse_sqrt_residual_by_group FAMILY inverse_sqrt
            SOURCE inverse_sqrt/inverse_sqrt_rows.comp DEFINES INVERSE_SQRT_RESIDUAL=1)
yolk_kernel(inverse_sqrt_residual_by_invocation FAMILY inverse_sqrt SOURCE inverse_sqrt/inverse_sqrt_rows.comp
            DEFINES ROWS_BY_INVOCATION=1 INVERSE_SQRT_RESIDUAL=1)
yolk_kernel(inverse_sqrt_start_by_group FAMILY inverse_sqrt
            SOURCE inverse_sqrt/inverse_sqrt_blocks.comp DEFINES INVERSE_SQRT_START=1)
yolk_kernel(inverse_sqrt_start_by_invocation FAMILY inverse_sqrt SOURCE inverse_sqrt/inverse_sqrt_blocks.comp
            DEFINES ROWS_BY_INVOCATION=1 INVERSE_SQRT_START=1)
yolk_kernel(inverse_sqrt_decide_by_group FAMILY inverse_sqrt SOURCE inverse_sqrt/inverse_sqrt_blocks.comp)
yolk_kernel(inverse_sqrt_decide_by_invocation FAMILY inverse_sqrt SOURCE inverse_sqrt/inverse_sqrt_blocks.comp
            DEFINES ROWS_BY_INVOCATION=1)
yolk_kernel(inverse_sqrt_begin FAMILY inverse_sqrt
            SOURCE inverse_sqrt/inverse_sqrt_elements.comp DEFINES INVERSE_SQRT_BEGIN=1)
yolk_kernel(inverse_sqrt_direction FAMILY inverse_sqrt
            SOURCE inverse_sqrt/inverse_sqrt_elements.comp DEFINES INVERSE_SQRT_DIRECTION=1)
yolk_kernel(inverse_sqrt_finish FAMILY inverse_sqrt SOURCE inverse_sqrt/inverse_sqrt_elements.comp)
yolk_kernel(kronecker_damping FAMILY kronecker_precondition SOURCE kronecker_precondition/kronecker_damping.comp)
yolk_kernel(kronecker_status FAMILY kronecker_precondition
            SOURCE kronecker_precondition/kronecker_finish.comp DEFINES KRONECKER_STATUS=1)
yolk_kernel(kronecker_zero FAMILY kronecker_precondition SOURCE kronecker_precondition/kronecker_finish.comp)
yolk_kernel(digest FAMILY digest SOURCE digest/digest.comp)
yolk_kernel(rearrange FAMILY rearrange SOURCE rearrange/rearrange.comp)
yolk_kernel(rearrange_quads FAMILY rearrange SOURCE rearrange/rearrange.comp DEFINES REARRANGE_QUADS=1)
yolk_kernel(rearrange_apart FAMILY rearrange SOURCE rearrange/rearrange.comp DEFINES REARRANGE_APART=1)
yolk_kernel(rearrange_tiles FAMILY rearrange SOURCE rearrange/rearrange_tiles.comp)
yolk_kernel(rearrange_tiles_staged FAMILY rearrange SOURCE rearrange/rearrange_tiles.comp DEFINES REARRANGE_STAGED=1)
yolk_kernel(cumulative_sum_by_group FAMILY cumulative_sum SOURCE cumulative_sum/cumulative_sum.comp)
yolk_kernel(cumulative_sum_by_invocation FAMILY cumulative_sum SOURCE cumulative_sum/cumulative_sum.comp DEFINES SUM_BY_INVOCATION=1)
yolk_kernel(cumulative_sum_add FAMILY cumulative_sum SOURCE cumulative_sum/cumulative_add.comp)
yolk_kernel(elementwise FAMILY elementwise SOURCE elementwise/elementwise.comp)
yolk_kernel(elementwise_quads FAMILY elementwise SOURCE elementwise/elementwise.comp DEFINES ELEMENTWISE_QUADS=1)
yolk_kernel(elementwise_texel FAMILY elementwise SOURCE elementwise/elementwise.comp
  TEXEL_MASKS kTexelMask kNoTexels DEFINES ELEMENTWISE_TEXEL=1)
yolk_kernel(elementwise_quads_texel FAMILY elementwise SOURCE elementwise/elementwise.comp
  TEXEL_MASKS kNoTexels kTexelMask DEFINES ELEMENTWISE_QUADS=1 ELEMENTWISE_TEXEL=1)
yolk_kernel(byte_model_prepare FAMILY byte_model SOURCE byte_model/byte_model_prepare.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/byte_model)
yolk_kernel(byte_model FAMILY byte_model UNROLLED SOURCE byte_model/byte_model.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/byte_model)
yolk_kernel(byte_model_dot FAMILY byte_model UNROLLED NEEDS integer_dot SOURCE byte_model/byte_model.comp
  INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/byte_model DEFINES INTEGER_DOT=1)
yolk_environments(environments)  # rollout_<name>, _unrolled and _packed for each file there

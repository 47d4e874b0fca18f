# Every kernel variant. FAMILY names the ABI header; the catalogue constant is k<Name>.
yolk_kernel(noise_i32 FAMILY noise SOURCE noise/noise.comp)
yolk_kernel(noise_f32 FAMILY noise SOURCE noise/noise.comp DEFINES NOISE_F32=1)

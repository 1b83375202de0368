# Finds NVIDIA's toolkit; nothing else decides where it is while dlc is built. runtime/Device/CUDA/Toolkit.cpp looks for toolkits in
# the same order when dlc runs, and behind them on the loader's path and in Python's packages.
#   DLC_CUDA_HOME     the folder with include/ and lib64/: $CUDA_HOME alone if that is set; else what scripts/install-deps.sh
#                     --cuda made, or /usr/local/cuda. Empty if there is none.
#   dlc_cuda_headers  the headers of cudart, cuBLASLt and cuDNN, and dlc_cudart, static cudart with them; only where all are there
# Each configuration looks again, and each build sees whether build/cuda came or went.
file(GLOB places CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/build/cuda)
list(APPEND places /usr/local/cuda)
if(NOT "$ENV{CUDA_HOME}" STREQUAL "")
  set(places $ENV{CUDA_HOME})
endif()
if(CMAKE_CROSSCOMPILING)
  set(places "") # this machine's
endif()
set(DLC_CUDA_HOME "")
foreach(place ${places})
  if(NOT DLC_CUDA_HOME AND EXISTS ${place}/include/cuda_runtime_api.h)
    set(DLC_CUDA_HOME ${place})
  endif()
endforeach()

# Toolkits do not bring cuDNN; its headers may be the system's.
find_path(cudnn cudnn.h HINTS ${DLC_CUDA_HOME}/include NO_CACHE)
set(cudart ${DLC_CUDA_HOME}/lib64/libcudart_static.a)
if(DLC_CUDA_HOME AND cudnn AND EXISTS ${DLC_CUDA_HOME}/include/cublasLt.h AND EXISTS ${cudart})
  message(STATUS "CUDA toolkit: ${DLC_CUDA_HOME}")
  find_package(Threads REQUIRED)
  add_library(dlc_cuda_headers INTERFACE)
  target_include_directories(dlc_cuda_headers SYSTEM INTERFACE ${DLC_CUDA_HOME}/include ${cudnn})
  add_library(dlc_cudart INTERFACE)
  target_link_libraries(dlc_cudart INTERFACE dlc_cuda_headers ${cudart} Threads::Threads ${CMAKE_DL_LIBS} rt)
else()
  message(STATUS "device cuda left out: no toolkit with static cudart and the headers of cuBLASLt and cuDNN in $CUDA_HOME, "
                 "build/cuda or /usr/local/cuda; scripts/install-deps.sh --cuda brings one")
endif()

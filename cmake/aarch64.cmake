# dlc-run for 64-bit ARM, built by Debian's cross compiler: without what needs more of the target's libraries, which are pictures,
# LMDB, HDF5, MPI and CUDA.
#   scripts/install-deps.sh --aarch64
#   cmake -S . -B build/aarch64 -G Ninja --toolchain cmake/aarch64.cmake && cmake --build build/aarch64 --target dlc-run
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Libraries are those that install-deps.sh has unpacked; headers are this machine's where they are the same everywhere.
list(APPEND CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root/usr)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(DLC_COMPILER OFF CACHE BOOL "")

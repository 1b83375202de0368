# Debian packages, one for each component of Install.cmake; scripts/package.sh makes them.
#   dlc_package(COMPONENT NAME SECTION DEPENDS SUMMARY DESCRIPTION PART...)   PART: as Notices.cmake has them, in doc/NAME/copyright
# What runs on older systems depends on what those have: dpkg-shlibdeps would ask for the C library of this one, which has no
# libpthread of its own any more. It is asked for the compiler, which is for this system alone.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "dlc developers")
set(CPACK_PACKAGE_CONTACT ${CPACK_PACKAGE_VENDOR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(old_systems "libc6 (>= 2.28), libgcc-s1")

macro(dlc_package component name section depends summary description)
  string(TOUPPER ${component} key)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_DEBIAN_${key}_DESCRIPTION "${summary}\n${description}")
  dlc_notices(${CMAKE_BINARY_DIR}/notices/${name} ${CMAKE_SOURCE_DIR}/LICENSE ${ARGN})
  install(FILES ${CMAKE_BINARY_DIR}/notices/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} RENAME copyright COMPONENT ${component})
endmacro()

dlc_package(runtime libdlc0 libs "${old_systems}, libstdc++6 (>= 8), libminizip1, zlib1g" "runtime of neural networks that dlc compiled"
  "A C++ and C library that loads what dlc compiled, runs it and trains it.\nIt needs no LLVM and no framework."
  nlohmann-json xxHash protozero libstdc++)
dlc_package(tools dlc-run science "${old_systems}" "trains and runs neural networks that dlc compiled"
  "dlc-run trains, evaluates, measures and inspects modules that dlc wrote, on\nthis machine or on several. It needs no LLVM and no library of dlc."
  CLI11 nlohmann-json xxHash protozero zlib minizip libstdc++)
dlc_package(development libdlc-dev libdevel "libdlc0 (= ${PROJECT_VERSION})" "headers of the runtime of dlc"
  "What a program needs to train and run neural networks in itself: headers,\nwhat CMake and pkg-config read, and libdlc.a."
  nlohmann-json xxHash protozero)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libminizip-dev, zlib1g-dev")
if(TARGET dlc_images)
  dlc_package(images libdlc-images libs "${old_systems}" "pictures as training data for the runtime of dlc"
    "libdlc0 and dlc-run open it to decode JPEG, PNG and WebP."
    libjpeg-turbo libpng libwebp zlib libstdc++)
  set(CPACK_DEBIAN_IMAGES_PACKAGE_ENHANCES "libdlc0, dlc-run")
endif()
if(TARGET dlc_lmdb)
  dlc_package(lmdb libdlc-lmdb libs "${old_systems}" "LMDB databases as training data for the runtime of dlc"
    "libdlc0 and dlc-run open it to read and write LMDB databases of pictures."
    LMDB libstdc++)
  set(CPACK_DEBIAN_LMDB_PACKAGE_ENHANCES "libdlc0, dlc-run")
endif()
if(TARGET dlc_hdf5)
  dlc_package(hdf5 libdlc-hdf5 libs "${old_systems}" "HDF5 files as training data for the runtime of dlc"
    "libdlc0 and dlc-run open it to read datasets of HDF5 files."
    HDF5 libaec zlib libstdc++)
  set(CPACK_DEBIAN_HDF5_PACKAGE_ENHANCES "libdlc0, dlc-run")
endif()
if(TARGET dlc_cuda)
  dlc_package(cuda libdlc-cuda libs "${old_systems}" "CUDA devices for the runtime of dlc"
    "libdlc0 and dlc-run open it for modules that were compiled for CUDA. The\ndriver and, where a module calls them, cuBLASLt, cuDNN and NCCL are NVIDIA's."
    cudart xxHash libstdc++)
  set(CPACK_DEBIAN_CUDA_PACKAGE_ENHANCES "libdlc0, dlc-run")
endif()
# Open MPI's package has another name in each Debian, and one and the same interface in all.
if(TARGET dlc_mpi)
  dlc_package(mpi libdlc-mpi libs "${old_systems}, libopenmpi3 | libopenmpi40" "training on several ranks for the runtime of dlc"
    "libdlc0 and dlc-run open it to sum gradients over ranks by Open MPI."
    xxHash libstdc++)
  set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS openmpi-bin)
  set(CPACK_DEBIAN_MPI_PACKAGE_ENHANCES "libdlc0, dlc-run")
endif()
if(DLC_COMPILER)
  dlc_package(compiler dlc devel "dlc-run (= ${PROJECT_VERSION})" "ahead-of-time compiler for training neural networks"
    "dlc compiles a neural network and its training step into one library of\nnative kernels, which dlc-run or a program of one's own trains."
    CLI11 nlohmann-json xxHash minizip LLD)
  find_program(DLC_SHLIBDEPS dpkg-shlibdeps)
  mark_as_advanced(DLC_SHLIBDEPS)
  if(DLC_SHLIBDEPS)
    set(CPACK_DEBIAN_COMPILER_PACKAGE_SHLIBDEPS ON)
  endif()
endif()
include(CPack)

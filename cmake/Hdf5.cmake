# Finds libhdf5: dlc_hdf5_library, where it is there. Static, so that libdlc_hdf5.so needs nothing where it runs and meets no other
# libhdf5 in the program that opens it, as h5py's; shared where there is no archive.
find_path(DLC_HDF5_HEADERS hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(DLC_LIBHDF5 NAMES libhdf5_serial.a libhdf5.a hdf5_serial hdf5)
# What Debian's archive calls to unpack szip.
find_library(DLC_LIBSZ libsz.a)
find_library(DLC_LIBAEC libaec.a)
mark_as_advanced(DLC_HDF5_HEADERS DLC_LIBHDF5 DLC_LIBSZ DLC_LIBAEC)
if(DLC_HDF5_HEADERS AND DLC_LIBHDF5)
  add_library(dlc_hdf5_library INTERFACE)
  target_include_directories(dlc_hdf5_library SYSTEM INTERFACE ${DLC_HDF5_HEADERS})
  target_link_libraries(dlc_hdf5_library INTERFACE ${DLC_LIBHDF5})
  foreach(library ${DLC_LIBSZ} ${DLC_LIBAEC})
    target_link_libraries(dlc_hdf5_library INTERFACE ${library})
  endforeach()
  target_link_libraries(dlc_hdf5_library INTERFACE ${DLC_ZLIB} m Threads::Threads ${CMAKE_DL_LIBS})
else()
  message(STATUS "libdlc_hdf5.so left out: no libhdf5; scripts/install-deps.sh brings it")
endif()

# Checks the settings that are texts: a typo ends the configuration. MILLRACE_CUDA is AUTO, ON, OFF or EMULATED
# afterwards.
string(TOUPPER "${MILLRACE_CUDA}" cuda)
if(NOT MILLRACE_CUDA)
  set(MILLRACE_CUDA OFF)
elseif(cuda MATCHES "^(ON|YES|TRUE|Y|1)$")
  set(MILLRACE_CUDA ON)
elseif(cuda MATCHES "^(AUTO|EMULATED)$")
  set(MILLRACE_CUDA ${cuda})
else()
  message(FATAL_ERROR "MILLRACE_CUDA is ${MILLRACE_CUDA}, expected AUTO, ON, OFF or EMULATED")
endif()

if(MILLRACE_SANITIZE AND NOT MILLRACE_SANITIZE MATCHES "^(address|thread)$")
  message(FATAL_ERROR "MILLRACE_SANITIZE is ${MILLRACE_SANITIZE}, expected address, thread or nothing")
endif()

(define (problem satellite-2)
  (:domain satellite)
  (:objects sat1 sat2 - satellite star earth moon mars - direction cam1 cam2 - instrument infrared - mode)
  (:init (on-board cam1 sat1) (on-board cam2 sat2) (supports cam1 infrared) (supports cam2 infrared)
         (calibration-target cam1 star) (calibration-target cam2 mars) (pointing sat1 earth) (pointing sat2
         moon) (power-available sat1) (power-available sat2))
  (:goal (and (have-image moon infrared) (have-image earth infrared) (pointing sat2 star))))

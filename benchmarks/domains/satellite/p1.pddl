(define (problem satellite-1)
  (:domain satellite)
  (:objects sat1 - satellite star earth moon - direction cam1 cam2 - instrument infrared thermo - mode)
  (:init (on-board cam1 sat1) (on-board cam2 sat1) (supports cam1 infrared) (supports cam2 thermo) (supports
         cam2 infrared) (calibration-target cam1 star) (calibration-target cam2 earth) (pointing sat1 moon)
         (power-available sat1))
  (:goal (and (have-image moon infrared) (have-image star thermo))))

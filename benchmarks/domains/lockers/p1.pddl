(define (problem lockers-1)
  (:domain lockers)
  (:objects east west - locker coat bag - item brass - key)
  (:init (inside coat east) (inside bag east) (locked west) (fits brass west) (fits master east) (fits master
         west))
  (:goal (and (inside coat west) (locked west) (not (open east)))))

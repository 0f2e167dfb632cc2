; Lockers are opened, closed, filled and locked; negative preconditions and a negative goal.
(define (domain lockers)
  (:requirements :strips :typing :negative-preconditions)
  (:types locker item key)
  (:constants master - key)
  (:predicates (open ?l - locker) (locked ?l - locker) (holding ?i - item) (inside ?i - item ?l - locker)
    (fits ?k - key ?l - locker) (busy))
  (:action open
    :parameters (?l - locker)
    :precondition (and (not (open ?l)) (not (locked ?l)))
    :effect (open ?l))
  (:action close
    :parameters (?l - locker)
    :precondition (open ?l)
    :effect (not (open ?l)))
  (:action lock
    :parameters (?l - locker ?k - key)
    :precondition (and (fits ?k ?l) (not (open ?l)) (not (locked ?l)) (not (busy)))
    :effect (locked ?l))
  (:action unlock
    :parameters (?l - locker ?k - key)
    :precondition (and (fits ?k ?l) (locked ?l) (not (busy)))
    :effect (not (locked ?l)))
  (:action take
    :parameters (?i - item ?l - locker)
    :precondition (and (inside ?i ?l) (open ?l) (not (busy)))
    :effect (and (holding ?i) (busy) (not (inside ?i ?l))))
  (:action put
    :parameters (?i - item ?l - locker)
    :precondition (and (holding ?i) (open ?l))
    :effect (and (inside ?i ?l) (not (holding ?i)) (not (busy)))))
